#include "ops/control/infer.h"
#include "ops/control/structure.h"
#include "ops/control/types.h"

namespace sluice::ops {

Status infer_if(InferenceContext& context) {
  if (context.graph() == nullptr) return context.error("its branches cannot be inferred here");
  SLUICE_TRY(check_structure(*context.graph(), context.operation()));
  std::vector<ir::Type> captured;
  add_captures(context, captured);
  const auto then_types = SLUICE_TRY(context.infer_subgraph("then_branch", captured));
  const auto else_types = SLUICE_TRY(context.infer_subgraph("else_branch", captured));
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    context.set_output(i, join_types(context, then_types[i], else_types[i]));
  }
  return ok_status();
}

}  // namespace sluice::ops
