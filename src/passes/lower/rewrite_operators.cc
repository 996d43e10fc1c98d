#include <map>
#include <string_view>
#include <vector>

#include "passes/lower/operator_rewrites.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

const std::map<std::string_view, ops::LowerFn> kRewrites = {
    {"Attention", rewrite_attention},
    {"ConvTranspose", rewrite_conv_transpose},
    {"DepthToSpace", rewrite_depth_to_space},
    {"Einsum", rewrite_einsum},
    {"LpNormalization", rewrite_lp_normalization},
    {"MeanVarianceNormalization", rewrite_mean_variance_normalization},
    {"ReduceLogSum", rewrite_reduce_log_sum},
    {"ReduceLogSumExp", rewrite_reduce_log_sum_exp},
    {"RotaryEmbedding", rewrite_rotary_embedding},
    {"SpaceToDepth", rewrite_space_to_depth},
    {"Tile", rewrite_tile},
};

/// An operation whose kernel reads and writes each number once stays where a backend has one.
bool stays(const ir::Graph& graph, const ir::Subgraph& subgraph, const ir::Operation& operation,
           const PassContext& context) {
  return operation.kind == "RotaryEmbedding" && context.has_kernel &&
         context.has_kernel(graph, subgraph, operation);
}

Result<int> rewrite_all(const ir::Graph& graph, ir::Subgraph& subgraph,
                        const PassContext& context) {
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  int num_rewritten = 0;
  for (const ir::OperationId at : order) {
    const ir::Operation& operation = subgraph.operation(at);
    const auto found = kRewrites.find(operation.kind);
    if (!operation.domain.empty() || operation.body || found == kRewrites.end()) continue;
    if (stays(graph, subgraph, operation, context)) continue;
    const std::string where = operation.describe();
    ops::Lowering lowering(subgraph, at, true);
    Status status = found->second(lowering);
    if (status.is_ok()) status = lowering.check_complete();
    if (status.code() == Code::kUnimplemented) continue;  // what was emitted has no reader
    SLUICE_TRY(std::move(status).with_context(where));
    subgraph.remove_operation(at);
    ++num_rewritten;
  }
  sweep(subgraph);
  return num_rewritten;
}

}  // namespace

Result<int> rewrite_operators(ir::Graph& graph, const PassContext& context) {
  const int num_rewritten = SLUICE_TRY(rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) { return rewrite_all(graph, graph.subgraph(id), context); }));
  SLUICE_TRY(infer_types(graph, context));
  return num_rewritten;
}

}  // namespace sluice::passes
