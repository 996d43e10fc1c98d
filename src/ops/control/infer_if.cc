#include <optional>
#include <utility>

#include "ops/control/infer.h"
#include "ops/control/structure.h"
#include "ops/control/types.h"

namespace sluice::ops {
namespace {

struct Branch {
  Status status;  ///< why it cannot run with these captures
  std::vector<ir::Type> outputs;
};

/// A branch may contradict the shapes of its captures: models contain "if rank is 4 ... else ...".
/// Such a branch is inferred for unknown shapes, and fails only if it runs.
Result<Branch> infer_branch(InferenceContext& context, std::string_view name,
                            std::vector<ir::Type> captured) {
  auto outputs = context.infer_subgraph(name, captured);
  if (outputs.is_ok()) return Branch{ok_status(), std::move(outputs).value()};
  for (ir::Type& type : captured) {
    if (type.is_tensor()) type = type.with_shape(std::nullopt);
  }
  auto of_any_shape = context.infer_subgraph(name, captured);
  if (!of_any_shape.is_ok()) return outputs.status();
  return Branch{outputs.status(), std::move(of_any_shape).value()};
}

/// The type of the branch that runs, if known; otherwise one that covers both.
ir::Type type_of(InferenceContext& context, std::optional<bool> condition,
                 const ir::Type& then_type, const ir::Type& else_type) {
  if (!condition) return join_types(context, then_type, else_type);
  return *condition ? then_type : else_type;
}

}  // namespace

Status infer_if(InferenceContext& context) {
  if (context.graph() == nullptr) return context.error("its branches cannot be inferred here");
  SLUICE_TRY(check_structure(*context.graph(), context.operation()));
  std::vector<ir::Type> captured;
  add_captures(context, captured);
  const Branch then_branch = SLUICE_TRY(infer_branch(context, "then_branch", captured));
  const Branch else_branch = SLUICE_TRY(infer_branch(context, "else_branch", captured));

  std::optional<bool> condition;
  const auto known = context.static_values(0);
  if (known && known->size() == 1) condition = known->front() != 0;
  const bool then_runs = condition.value_or(then_branch.status.is_ok());
  if (!then_branch.status.is_ok() && then_runs) return then_branch.status;
  if (!else_branch.status.is_ok() && !then_runs) return else_branch.status;
  if (!then_branch.status.is_ok() || !else_branch.status.is_ok()) condition = then_runs;

  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    context.set_output(i,
                       type_of(context, condition, then_branch.outputs[i], else_branch.outputs[i]));
  }
  return ok_status();
}

}  // namespace sluice::ops
