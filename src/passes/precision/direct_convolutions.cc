#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {

Result<int> direct_convolutions(ir::Graph& graph, const PassContext&) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    ir::Subgraph& subgraph = graph.subgraph(id);
    int marked = 0;
    for (const ir::OperationId at : subgraph.order()) {
      ir::Operation& operation = subgraph.operation(at);
      if (!operation.is("Conv")) continue;
      operation.attributes.set("sluice_convolution", "direct");
      ++marked;
    }
    return marked;
  });
}

}  // namespace sluice::passes
