// Optionals, and Identity of sequences and optionals. An optional with an element is represented by
// that element.
#include "exec/context/step.h"

namespace sluice::exec {

Status run_identity(StepCall& call) { return call.give(0, SLUICE_TRY(call.value(0))); }

Status run_optional(StepCall& call) { return call.give(0, SLUICE_TRY(call.value(0))); }

Status run_optional_has_element(StepCall& call) {
  const bool has_element =
      call.has_input(0) && (call.is_tensor(0) || !SLUICE_TRY(call.value(0)).is_empty());
  return call.give_integer(0, ir::ElementType::kBool, has_element ? 1 : 0);
}

Status run_optional_get_element(StepCall& call) {
  if (call.is_tensor(0)) return call.give_copy(0, SLUICE_TRY(call.tensor(0)));
  Value value = SLUICE_TRY(call.value(0));
  if (value.is_empty()) return StepCall::error("the optional has no element");
  return call.give(0, std::move(value));
}

}  // namespace sluice::exec
