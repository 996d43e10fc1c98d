#include "ir/graph.h"

#include <algorithm>
#include <unordered_map>
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
  // Changed in a copy: `set` would invalidate the iterators of the loop.
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

std::vector<OperandId> Operation::reads() const {
  std::vector<OperandId> all = inputs;
  if (body) all.insert(all.end(), body->inputs.begin(), body->inputs.end());
  return all;
}

std::string Operation::describe() const {
  const std::string full = domain.empty() ? kind : domain + "::" + kind;
  return name.empty() ? "a " + full + " node" : "node \"" + name + "\" (" + full + ")";
}

OperandId Subgraph::add_operand(Operand operand) {
  operands_.push_back(std::move(operand));
  return OperandId(operands_.size() - 1);
}

OrderEdits::OrderEdits(std::span<const OperationId> order, std::size_t num_operations) {
  grow(num_operations + 1);
  for (const OperationId id : order) append(id);
}

void OrderEdits::grow(std::size_t num_entries) {
  while (entries_.size() < num_entries) {
    const auto self = static_cast<std::uint32_t>(entries_.size());
    // An unlinked entry points to itself. Entry 0 is the end (kEnd); operation i has entry i + 1.
    entries_.push_back({self, self});
  }
}

void OrderEdits::link(OperationId id, std::uint32_t before) {
  ++work_counts.visits;
  grow(id.index() + 2);
  const std::uint32_t self = entry_of(id);
  const std::uint32_t previous = entries_[before].previous;
  entries_[self] = {previous, before};
  entries_[previous].next = self;
  entries_[before].previous = self;
}

void OrderEdits::insert_before(OperationId position, OperationId id) {
  const bool is_known = position.is_valid() && position.index() + 1 < entries_.size();
  const std::uint32_t before = is_known ? entry_of(position) : kEnd;
  // An operation that was removed is no place: the new one goes to the end.
  link(id, entries_[before].next == before ? kEnd : before);
}

void OrderEdits::remove(OperationId id) {
  ++work_counts.visits;
  if (!id.is_valid() || id.index() + 1 >= entries_.size()) return;
  const std::uint32_t self = entry_of(id);
  const Entry entry = entries_[self];
  entries_[entry.previous].next = entry.next;
  entries_[entry.next].previous = entry.previous;
  // A second removal changes nothing then.
  entries_[self] = {self, self};
}

std::vector<OperationId> OrderEdits::settle() const {
  std::vector<OperationId> order;
  for (std::uint32_t at = entries_[kEnd].next; at != kEnd; at = entries_[at].next) {
    ++work_counts.visits;
    order.emplace_back(std::size_t{at} - 1);
  }
  return order;
}

OrderEdits& Subgraph::edits() {
  if (!edits_) edits_.emplace(order_, operations_.size());
  return *edits_;
}

void Subgraph::settle_order() const {
  // Edits of a list cost O(1) each; the vector that readers want is made once, when they ask.
  order_ = edits_->settle();
  edits_.reset();
}

OperationId Subgraph::add_operation(Operation operation) {
  operations_.push_back(std::move(operation));
  const OperationId id(operations_.size() - 1);
  if (edits_) {
    edits_->append(id);
  } else {
    order_.push_back(id);
  }
  return id;
}

OperationId Subgraph::insert_operation(OperationId position, Operation operation) {
  operations_.push_back(std::move(operation));
  const OperationId id(operations_.size() - 1);
  edits().insert_before(position, id);
  return id;
}

void Subgraph::remove_operation(OperationId id) {
  // The last operation leaves the vector as it is, so no list is made for it.
  if (!edits_ && !order_.empty() && order_.back() == id) {
    order_.pop_back();
  } else {
    edits().remove(id);
  }
}

OperandId Subgraph::add_constant(std::string operand_name, Constant constant) {
  Type type = constant.type;
  return add_operand(Operand{std::move(operand_name), std::move(type), std::move(constant)});
}

void Subgraph::compact() {
  std::vector<Operation> kept;
  kept.reserve(order().size());
  for (const OperationId id : order()) kept.push_back(std::move(operation(id)));
  operations_ = std::move(kept);
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = OperationId(i);

  std::vector<OperandId> renamed(operands_.size());
  std::vector<Operand> operands;
  const auto rename = [&](OperandId& id) {
    if (!id.is_valid()) return;
    OperandId& target = renamed[id.index()];
    // In order of first use: equal graphs get equal numbers, whatever passes made of them. Operands
    // without a use go.
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

UseIndex::UseIndex(const Subgraph& subgraph) : uses_(subgraph.num_operands()) {
  for (const OperationId id : subgraph.order()) add(subgraph, id);
  for (const OperandId output : subgraph.outputs) {
    if (output.is_valid()) uses_[output.index()].is_output = true;
  }
}

UseIndex::Uses& UseIndex::uses_of(OperandId id) {
  if (id.index() >= uses_.size()) uses_.resize(id.index() + 1);
  return uses_[id.index()];
}

void UseIndex::add(const Subgraph& subgraph, OperationId id) {
  const Operation& operation = subgraph.operation(id);
  const auto add_reader = [&](OperandId operand) {
    if (operand.is_valid()) uses_of(operand).readers.push_back(id);
  };
  operation.for_each_read(add_reader);
  for (const OperandId output : operation.outputs) {
    if (output.is_valid()) uses_of(output).producer = id;
  }
}

void UseIndex::remove(const Subgraph& subgraph, OperationId id) {
  const Operation& operation = subgraph.operation(id);
  const auto remove_reader = [&](OperandId operand) {
    // Removed when somebody reads the list: removing at once would make a constant with n readers
    // cost O(n^2).
    if (operand.is_valid()) uses_of(operand).gone.push_back(id);
  };
  operation.for_each_read(remove_reader);
  for (const OperandId output : operation.outputs) {
    if (output.is_valid() && uses_of(output).producer == id) uses_of(output).producer = {};
  }
}

std::span<const OperationId> UseIndex::readers(OperandId id) const {
  if (id.index() >= uses_.size()) return {};
  Uses& uses = uses_[id.index()];
  if (uses.gone.empty()) return uses.readers;
  // The first reads of an operation are the oldest ones: what was added again stays.
  std::unordered_map<OperationId, std::size_t> gone;
  for (const OperationId reader : uses.gone) ++gone[reader];
  work_counts.visits += uses.readers.size();
  std::erase_if(uses.readers, [&](OperationId reader) {
    const auto it = gone.find(reader);
    return it != gone.end() && it->second > 0 && it->second-- > 0;
  });
  uses.gone.clear();
  return uses.readers;
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
  // The main graph stays number 0; `kept` grows while the loop below finds more.
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
