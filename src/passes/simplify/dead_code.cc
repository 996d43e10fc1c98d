#include <algorithm>

#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

class Sweeper {
 public:
  explicit Sweeper(ir::Subgraph& subgraph)
      : subgraph_(subgraph), is_read_(subgraph.num_operands(), false) {}

  int run() {
    for (const ir::OperandId output : subgraph_.outputs) is_read_[output.index()] = true;
    std::vector<ir::OperationId> kept;
    const auto order = subgraph_.order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      ir::Operation& operation = subgraph_.operation(*it);
      if (!is_needed(operation)) continue;
      mark(operation.reads());
      drop_unread_outputs(operation, [&](ir::OperandId id) { return is_read(id); });
      kept.push_back(*it);
    }
    const auto num_removed = static_cast<int>(order.size() - kept.size());
    std::reverse(kept.begin(), kept.end());
    subgraph_.set_order(std::move(kept));
    return num_removed;
  }

 private:
  bool is_read(ir::OperandId id) const { return id.is_valid() && is_read_[id.index()]; }

  bool is_needed(const ir::Operation& operation) const {
    if (operation.is("InputOrDefault", "sluice")) return true;  // the model keeps its input
    return std::any_of(operation.outputs.begin(), operation.outputs.end(),
                       [&](ir::OperandId output) { return is_read(output); });
  }

  void mark(const std::vector<ir::OperandId>& operands) {
    for (const ir::OperandId id : operands) {
      if (id.is_valid()) is_read_[id.index()] = true;
    }
  }

  ir::Subgraph& subgraph_;
  std::vector<bool> is_read_;
};

}  // namespace

int sweep(ir::Subgraph& subgraph) { return Sweeper(subgraph).run(); }

Result<int> remove_dead_code(ir::Graph& graph, const PassContext& /*context*/) {
  const int num_removed = SLUICE_TRY(rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) -> Result<int> { return sweep(graph.subgraph(id)); }));
  graph.compact();
  return num_removed;
}

}  // namespace sluice::passes
