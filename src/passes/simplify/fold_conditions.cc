#include <optional>
#include <unordered_set>
#include <utility>

#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

std::optional<bool> constant_condition(const ir::Subgraph& subgraph, const ir::Operation& choice) {
  const ir::Constant* constant = subgraph.find_constant(choice.input(0));
  const auto values = constant ? ir::integer_values(*constant) : std::nullopt;
  if (!values || values->size() != 1) return std::nullopt;
  return values->front() != 0;
}

/// Moves a branch into the subgraph of its If, before that operation.
class Inliner {
 public:
  Inliner(ir::Subgraph& outer, const ir::Subgraph& branch)
      : outer_(outer), branch_(branch), moved_(branch.num_operands()) {
    for (std::size_t i = 0; i < outer.num_operands(); ++i) {
      names_.insert(outer.operand(ir::OperandId(i)).name);
    }
  }

  void run(ir::OperationId position, const ir::Operation& choice) {
    for (std::size_t i = 0; i < branch_.inputs.size(); ++i) {
      moved_[branch_.inputs[i].index()] = choice.inputs[1 + i];
    }
    take_outputs(choice);
    for (const ir::OperationId id : branch_.order()) {
      ir::Operation operation = branch_.operation(id);
      for (ir::OperandId& input : operation.inputs) input = moved(input);
      for (ir::OperandId& output : operation.outputs) output = moved(output);
      if (operation.body) {
        for (ir::OperandId& input : operation.body->inputs) input = moved(input);
      }
      outer_.insert_operation(position, std::move(operation));
    }
    for (const auto& [from, to] : copies_) copy(position, from, to);
  }

 private:
  /// What the branch computes is written to the If's own outputs; the rest is copied to them.
  void take_outputs(const ir::Operation& choice) {
    const ir::UseIndex uses(branch_);
    for (std::size_t i = 0; i < choice.outputs.size(); ++i) {
      const ir::OperandId to = choice.outputs[i];
      const ir::OperandId from = branch_.outputs[i];
      if (!to.is_valid()) continue;
      const bool is_computed = uses.producer(from).is_valid();
      if (is_computed && !moved_[from.index()].is_valid()) {
        moved_[from.index()] = to;
        outer_.operand(to).type = branch_.operand(from).type;
      } else {
        copies_.emplace_back(from, to);
      }
    }
  }

  ir::OperandId moved(ir::OperandId id) {
    if (!id.is_valid()) return id;
    ir::OperandId& target = moved_[id.index()];
    if (!target.is_valid()) {
      ir::Operand operand = branch_.operand(id);
      const std::string wanted = operand.name;
      for (int i = 2; !operand.name.empty() && !names_.insert(operand.name).second; ++i) {
        operand.name = fmt::format("{}_{}", wanted, i);
      }
      target = outer_.add_operand(std::move(operand));
    }
    return target;
  }

  void copy(ir::OperationId position, ir::OperandId from, ir::OperandId to) {
    outer_.operand(to).type = branch_.operand(from).type;
    outer_.insert_operation(position, make_operation(outer_, "Identity", {moved(from)}, to));
  }

  ir::Subgraph& outer_;
  const ir::Subgraph& branch_;
  std::vector<ir::OperandId> moved_;  // by operand of the branch
  std::vector<std::pair<ir::OperandId, ir::OperandId>> copies_;
  std::unordered_set<std::string> names_;
};

Result<int> fold(ir::Graph& graph, ir::SubgraphId id) {
  ir::Subgraph& subgraph = graph.subgraph(id);
  int num_folded = 0;
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  for (const ir::OperationId at : order) {
    const ir::Operation choice = subgraph.operation(at);
    if (!choice.is("If")) continue;
    const auto condition = constant_condition(subgraph, choice);
    if (!condition) continue;
    SLUICE_TRY(ops::check_structure(graph, choice));
    const char* branch = *condition ? "then_branch" : "else_branch";
    const auto taken = *choice.attributes.find<ir::SubgraphId>(branch);
    Inliner(subgraph, graph.subgraph(taken)).run(at, choice);
    subgraph.remove_operation(at);
    ++num_folded;
  }
  return num_folded;
}

}  // namespace

Result<int> fold_conditions(ir::Graph& graph, const PassContext& /*context*/) {
  const int num_folded =
      SLUICE_TRY(rewrite_subgraphs(graph, [&](ir::SubgraphId id) { return fold(graph, id); }));
  if (num_folded > 0) graph.compact();  // removes branches that are not taken and emptied subgraphs
  return num_folded;
}

}  // namespace sluice::passes
