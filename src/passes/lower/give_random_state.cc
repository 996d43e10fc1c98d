#include <set>
#include <utility>

#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

// The attribute that tells operations apart which share one state: each draws a stream of its own.
constexpr const char* kStream = "sluice_stream";

/// The place of the state among the operation's inputs; nullopt if it draws no numbers.
std::optional<std::size_t> state_input(const ir::Subgraph& subgraph,
                                       const ir::Operation& operation) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr || schema->inputs.empty() || !schema->inputs.back().is_random_state) {
    return std::nullopt;
  }
  if (operation.is("Dropout") && is_inference_dropout(subgraph, operation)) return std::nullopt;
  return schema->inputs.size() - 1;
}

class StateGiver {
 public:
  explicit StateGiver(ir::Graph& graph) : graph_(graph) {}

  Result<int> run() {
    return rewrite_subgraphs(
        graph_, [&](ir::SubgraphId id) -> Result<int> { return run(graph_.subgraph(id)); });
  }

 private:
  int run(ir::Subgraph& subgraph) {
    int num_given = 0;
    ir::OperandId state;
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    for (const ir::OperationId id : order) {
      const auto place = state_input(subgraph, subgraph.operation(id));
      if (!place) continue;
      if (!subgraph.operation(id).input(*place).is_valid()) {
        // One per subgraph, before everything else, so that every operation may read it.
        if (!state.is_valid()) state = add_state(subgraph, order.front());
        ir::Operation& operation = subgraph.operation(id);
        operation.inputs.resize(*place + 1);
        operation.inputs[*place] = state;
        ++num_given;
      }
      // Also where the state was given: two parts that were compiled alone may use the same
      // numbers.
      number(subgraph.operation(id));
    }
    return num_given;
  }

  static ir::OperandId add_state(ir::Subgraph& subgraph, ir::OperationId before) {
    const ir::OperandId state =
        add_operand(subgraph, ir::Type::tensor(ir::ElementType::kU64, ir::Shape{3}));
    ir::Operation operation;
    operation.domain = "sluice";
    operation.kind = "RandomState";
    operation.version = 1;
    operation.outputs = {state};
    subgraph.insert_operation(before, std::move(operation));
    return state;
  }

  /// Keeps a number that no other operation has: a graph may hold parts that were compiled before.
  void number(ir::Operation& operation) {
    const auto* given = operation.attributes.find<std::int64_t>(kStream);
    if (given != nullptr && taken_.insert(*given).second) return;
    while (!taken_.insert(next_).second) ++next_;
    operation.attributes.set(kStream, next_);
  }

  ir::Graph& graph_;
  std::set<std::int64_t> taken_;
  std::int64_t next_ = 0;
};

}  // namespace

Result<int> give_random_state(ir::Graph& graph, const PassContext& /*context*/) {
  return StateGiver(graph).run();
}

}  // namespace sluice::passes
