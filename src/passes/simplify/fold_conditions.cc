#include <optional>
#include <string>
#include <unordered_map>
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

/// The names of a subgraph's operands. Reads them when first asked.
class Names {
 public:
  explicit Names(const ir::Subgraph& subgraph) : subgraph_(subgraph) {}

  /// The name itself if it is new, else with the first number that makes it so. Takes it.
  std::string take(const std::string& wanted) {
    // Operands without a name stay so.
    if (wanted.empty()) return wanted;
    if (taken_.empty()) {
      for (std::size_t i = 0; i < subgraph_.num_operands(); ++i) {
        taken_.insert(subgraph_.operand(ir::OperandId(i)).name);
      }
    }
    if (taken_.insert(wanted).second) return wanted;
    int& number = last_number_.emplace(wanted, 1).first->second;
    std::string name;
    do {
      name = fmt::format("{}_{}", wanted, ++number);
    } while (!taken_.insert(name).second);
    return name;
  }

 private:
  const ir::Subgraph& subgraph_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_number_;
};

/// Moves a branch into the subgraph of its If, before that operation.
class Inliner {
 public:
  Inliner(ir::Subgraph& outer, const ir::Subgraph& branch, Names& names)
      // Branches take nothing but captures, which follow the condition among the If's inputs.
      : outer_(outer), branch_(branch), names_(names), moved_(branch.num_operands()) {}

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
      // An output that the branch names twice, or hands through, cannot be renamed: it is copied.
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
      operand.name = names_.take(operand.name);
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
  Names& names_;
  std::vector<ir::OperandId> moved_;  // by operand of the branch
  std::vector<std::pair<ir::OperandId, ir::OperandId>> copies_;
};

Result<int> fold(ir::Graph& graph, ir::SubgraphId id) {
  ir::Subgraph& subgraph = graph.subgraph(id);
  int num_folded = 0;
  // One for all branches that move in, so that the names of two branches differ.
  Names names(subgraph);
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  for (const ir::OperationId at : order) {
    if (!subgraph.operation(at).is("If")) continue;
    // A copy, since the Inliner inserts operations into the subgraph that holds it.
    const ir::Operation choice = subgraph.operation(at);
    const auto condition = constant_condition(subgraph, choice);
    if (!condition) continue;
    // The graph may come from a file; Inliner relies on equal numbers of inputs and outputs.
    SLUICE_TRY(ops::check_structure(graph, choice));
    const char* branch = *condition ? "then_branch" : "else_branch";
    const auto taken = *choice.attributes.find<ir::SubgraphId>(branch);
    Inliner(subgraph, graph.subgraph(taken), names).run(at, choice);
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
