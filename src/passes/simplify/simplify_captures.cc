#include <algorithm>
#include <variant>
#include <vector>

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

/// The captures of one operation. Capture `i` is input `own + i` of the operation, and the input of
/// each body that is as far from the end.
class Captures {
 public:
  Captures(ir::Graph& graph, ir::Subgraph& outer, ir::Operation& operation)
      : graph_(graph), outer_(outer), operation_(operation) {
    own_ = ops::num_own_inputs(operation);
    count_ = operation.inputs.size() - own_;
    for (const ir::SubgraphId id : subgraphs_of(operation)) {
      bodies_.push_back({graph_.subgraph(id), ir::UseIndex(graph_.subgraph(id))});
    }
  }

  int run() {
    std::vector<bool> is_dropped(count_);
    for (std::size_t i = 0; i < count_; ++i) is_dropped[i] = drop(i);
    erase(operation_.inputs, is_dropped);
    for (Body& body : bodies_) erase(body.subgraph.inputs, is_dropped);
    operation_.attributes.set("captures",
                              static_cast<std::int64_t>(operation_.inputs.size() - own_));
    return static_cast<int>(std::count(is_dropped.begin(), is_dropped.end(), true));
  }

 private:
  struct Body {
    ir::Subgraph& subgraph;
    ir::UseIndex uses;
  };

  ir::OperandId inner(const Body& body, std::size_t capture) const {
    return body.subgraph.inputs[body.subgraph.inputs.size() - count_ + capture];
  }

  static bool is_read(const Body& body, ir::OperandId id) {
    return body.uses.is_output(id) || body.uses.num_readers(id) > 0;
  }

  /// Makes a capture a constant of the bodies, or finds that none reads it.
  bool drop(std::size_t capture) {
    const ir::Constant* constant = outer_.find_constant(operation_.inputs[own_ + capture]);
    const bool is_needed = std::ranges::any_of(
        bodies_, [&](const Body& body) { return is_read(body, inner(body, capture)); });
    if (constant == nullptr) return !is_needed;
    for (Body& body : bodies_) {
      ir::Operand& operand = body.subgraph.operand(inner(body, capture));
      operand.type = constant->type;
      operand.constant = *constant;
    }
    return true;
  }

  /// Erases the captures among the last inputs.
  void erase(std::vector<ir::OperandId>& inputs, const std::vector<bool>& is_dropped) const {
    std::size_t kept = inputs.size() - count_;
    for (std::size_t i = 0; i < count_; ++i) {
      const ir::OperandId id = inputs[inputs.size() - count_ + i];
      if (!is_dropped[i]) inputs[kept++] = id;
    }
    inputs.resize(kept);
  }

  ir::Graph& graph_;
  ir::Subgraph& outer_;
  ir::Operation& operation_;
  std::vector<Body> bodies_;
  std::size_t own_ = 0;
  std::size_t count_ = 0;
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
