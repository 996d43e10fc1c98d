#include "ir/graph.h"

#include <algorithm>
#include <utility>

namespace sluice::ir {
namespace {

/// Calls `visit` on every operand id an operation names, mutable.
template <typename Visit>
void for_each_read(Operation& operation, const Visit& visit) {
  for (OperandId& id : operation.inputs) visit(id);
  if (operation.body) {
    for (OperandId& id : operation.body->inputs) visit(id);
  }
}

/// Calls `visit` on every subgraph id an operation names, mutable.
template <typename Visit>
void for_each_subgraph(Operation& operation, const Visit& visit) {
  if (operation.body) visit(operation.body->subgraph);
  Attributes changed = operation.attributes;
  for (const auto& [name, value] : operation.attributes) {
    Attribute copy = value;
    if (auto* id = std::get_if<SubgraphId>(&copy)) {
      visit(*id);
    } else if (auto* ids = std::get_if<std::vector<SubgraphId>>(&copy)) {
      std::for_each(ids->begin(), ids->end(), visit);
    } else {
      continue;
    }
    changed.set(name, std::move(copy));
  }
  operation.attributes = std::move(changed);
}

}  // namespace

std::string Operation::describe() const {
  const std::string full = domain.empty() ? kind : domain + "::" + kind;
  return name.empty() ? "a " + full + " node" : "node \"" + name + "\" (" + full + ")";
}

OperandId Subgraph::add_operand(Operand operand) {
  operands_.push_back(std::move(operand));
  return OperandId(operands_.size() - 1);
}

OperationId Subgraph::add_operation(Operation operation) {
  operations_.push_back(std::move(operation));
  const OperationId id(operations_.size() - 1);
  order_.push_back(id);
  return id;
}

OperationId Subgraph::insert_operation(OperationId position, Operation operation) {
  operations_.push_back(std::move(operation));
  const OperationId id(operations_.size() - 1);
  order_.insert(std::find(order_.begin(), order_.end(), position), id);
  return id;
}

void Subgraph::remove_operation(OperationId id) {
  order_.erase(std::remove(order_.begin(), order_.end(), id), order_.end());
}

OperandId Subgraph::add_constant(std::string operand_name, Constant constant) {
  Type type = constant.type;
  return add_operand(Operand{std::move(operand_name), std::move(type), std::move(constant)});
}

void Subgraph::replace_uses(OperandId from, OperandId to) {
  const auto redirect = [&](OperandId& id) {
    if (id == from) id = to;
  };
  for (const OperationId id : order_) for_each_read(operation(id), redirect);
  std::for_each(outputs.begin(), outputs.end(), redirect);
}

void Subgraph::compact() {
  std::vector<Operation> kept;
  kept.reserve(order_.size());
  for (const OperationId id : order_) kept.push_back(std::move(operation(id)));
  operations_ = std::move(kept);
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = OperationId(i);

  std::vector<OperandId> renamed(operands_.size());
  std::vector<Operand> operands;
  const auto rename = [&](OperandId& id) {
    if (!id.is_valid()) return;
    OperandId& target = renamed[id.index()];
    if (!target.is_valid()) {
      target = OperandId(operands.size());
      operands.push_back(std::move(operands_[id.index()]));
    }
    id = target;
  };
  std::for_each(inputs.begin(), inputs.end(), rename);
  for (Operation& operation : operations_) {
    for_each_read(operation, rename);
    std::for_each(operation.outputs.begin(), operation.outputs.end(), rename);
  }
  std::for_each(outputs.begin(), outputs.end(), rename);
  operands_ = std::move(operands);
}

UseIndex::UseIndex(const Subgraph& subgraph)
    : producers_(subgraph.num_operands()),
      readers_(subgraph.num_operands()),
      is_output_(subgraph.num_operands(), false) {
  const auto add_reader = [&](OperandId operand, OperationId reader) {
    if (operand.is_valid()) readers_[operand.index()].push_back(reader);
  };
  for (const OperationId id : subgraph.order()) {
    const Operation& operation = subgraph.operation(id);
    for (const OperandId input : operation.inputs) add_reader(input, id);
    if (operation.body) {
      for (const OperandId input : operation.body->inputs) add_reader(input, id);
    }
    for (const OperandId output : operation.outputs) {
      if (output.is_valid()) producers_[output.index()] = id;
    }
  }
  for (const OperandId output : subgraph.outputs) {
    if (output.is_valid()) is_output_[output.index()] = true;
  }
}

SubgraphId Graph::add_subgraph(std::string name) {
  subgraphs_.emplace_back();
  subgraphs_.back().name = std::move(name);
  return SubgraphId(subgraphs_.size() - 1);
}

void Graph::compact() {
  std::vector<SubgraphId> renamed(subgraphs_.size());
  std::vector<Subgraph> kept;
  const auto rename = [&](SubgraphId& id) {
    SubgraphId& target = renamed[id.index()];
    if (!target.is_valid()) {
      target = SubgraphId(kept.size());
      kept.push_back(std::move(subgraphs_[id.index()]));
    }
    id = target;
  };
  SubgraphId main(std::size_t{0});
  rename(main);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i].compact();
    for (std::size_t at = 0; at < kept[i].num_operations(); ++at) {
      Operation operation = kept[i].operation(OperationId(at));
      for_each_subgraph(operation, rename);  // may move `kept`
      kept[i].operation(OperationId(at)) = std::move(operation);
    }
  }
  subgraphs_ = std::move(kept);
}

}  // namespace sluice::ir
