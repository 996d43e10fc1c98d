#include "ops/operands/constants.h"

namespace sluice::cpu {

bool constant_integers(const sluice_op& op, int input, Dims* values) {
  values->clear();
  if (op.num_inputs <= input || plugin::is_absent(op.inputs[input].tensor)) return true;
  const sluice_operand& operand = op.inputs[input];
  if (operand.is_constant == 0 || operand.tensor.data == nullptr) return false;
  if (operand.tensor.element_type == plugin::kI64) {
    const auto all = plugin::elements<const std::int64_t>(operand.tensor);
    values->assign(all.begin(), all.end());
    return true;
  }
  if (operand.tensor.element_type != plugin::kI32) return false;
  const auto all = plugin::elements<const std::int32_t>(operand.tensor);
  values->assign(all.begin(), all.end());
  return true;
}

}  // namespace sluice::cpu
