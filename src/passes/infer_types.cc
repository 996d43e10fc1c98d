#include "ops/inference.h"
#include "passes/rewrites.h"

namespace sluice::passes {

Result<int> infer_types(ir::Graph& graph, const PassContext& /*context*/) {
  SLUICE_TRY(ops::infer_types(graph));
  return 0;
}

}  // namespace sluice::passes
