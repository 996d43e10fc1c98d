#include <algorithm>
#include <variant>

#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

/// Subgraphs that control flow runs for this operation.
std::vector<ir::SubgraphId> subgraphs_of(const ir::Operation& operation) {
  std::vector<ir::SubgraphId> ids;
  for (const auto& [name, value] : operation.attributes) {
    if (const auto* id = std::get_if<ir::SubgraphId>(&value)) ids.push_back(*id);
  }
  return ids;
}

bool is_read(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::UseIndex uses(subgraph);
  return uses.is_output(id) || !uses.readers(id).empty();
}

/// The captures of one operation.
class Captures {
 public:
  Captures(ir::Graph& graph, ir::Subgraph& outer, ir::Operation& operation)
      : graph_(graph), outer_(outer), operation_(operation), bodies_(subgraphs_of(operation)) {
    own_ = ops::num_own_inputs(operation);
  }

  int run() {
    int num_dropped = 0;
    for (std::size_t i = operation_.inputs.size(); i-- > own_;) {
      if (!drop(i)) continue;
      operation_.inputs.erase(operation_.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      ++num_dropped;
    }
    operation_.attributes.set("captures",
                              static_cast<std::int64_t>(operation_.inputs.size() - own_));
    return num_dropped;
  }

 private:
  /// Makes capture `index` a constant of the bodies, or finds that none reads it.
  bool drop(std::size_t index) {
    const ir::Constant* constant = outer_.find_constant(operation_.inputs[index]);
    const std::size_t from_end = operation_.inputs.size() - index;
    const auto inner = [&](ir::SubgraphId body) -> ir::OperandId {
      const auto& inputs = graph_.subgraph(body).inputs;
      return inputs[inputs.size() - from_end];
    };
    const bool is_needed = std::any_of(bodies_.begin(), bodies_.end(), [&](ir::SubgraphId body) {
      return is_read(graph_.subgraph(body), inner(body));
    });
    if (constant == nullptr && is_needed) return false;
    for (const ir::SubgraphId body : bodies_) {
      ir::Subgraph& subgraph = graph_.subgraph(body);
      ir::Operand& operand = subgraph.operand(inner(body));
      if (constant != nullptr) {
        operand.type = constant->type;
        operand.constant = *constant;
      }
      subgraph.inputs.erase(subgraph.inputs.end() - static_cast<std::ptrdiff_t>(from_end));
    }
    return true;
  }

  ir::Graph& graph_;
  ir::Subgraph& outer_;
  ir::Operation& operation_;
  std::vector<ir::SubgraphId> bodies_;
  std::size_t own_ = 0;
};

}  // namespace

Result<int> simplify_captures(ir::Graph& graph, const PassContext& /*context*/) {
  // Outer subgraphs first: a constant moved into one can then move into those nested in it.
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    int num_dropped = 0;
    ir::Subgraph& subgraph = graph.subgraph(id);
    for (const ir::OperationId at : subgraph.order()) {
      ir::Operation& operation = subgraph.operation(at);
      if (!operation.attributes.contains("captures")) continue;
      SLUICE_TRY(ops::check_structure(graph, operation));
      num_dropped += Captures(graph, subgraph, operation).run();
    }
    return num_dropped;
  });
}

}  // namespace sluice::passes
