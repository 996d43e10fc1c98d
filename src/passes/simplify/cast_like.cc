#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

int replace_cast_likes(ir::Subgraph& subgraph) {
  int num_rewritten = 0;
  for (const ir::OperationId id : subgraph.order()) {
    ir::Operation& operation = subgraph.operation(id);
    if (!operation.is("CastLike") || !operation.input(1).is_valid()) continue;
    const ir::Type& like = subgraph.operand(operation.input(1)).type;
    if (!like.is_tensor() || like.element() == ir::ElementType::kUndefined) continue;
    operation.kind = "Cast";
    operation.version = ops::find_schema("", "Cast")->newest_version();
    // Only its type mattered. What computes it may be dead now.
    operation.inputs.resize(1);
    operation.attributes.set("to", static_cast<std::int64_t>(like.element()));
    ++num_rewritten;
  }
  return num_rewritten;
}

}  // namespace

Result<int> name_cast_types(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    return replace_cast_likes(graph.subgraph(id));
  });
}

}  // namespace sluice::passes
