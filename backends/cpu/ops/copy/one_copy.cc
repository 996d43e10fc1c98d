#include "ops/copy/one_copy.h"

namespace sluice::cpu {

Status check_movable(const sluice_op& op) {
  if (op.body != nullptr) return plugin::unimplemented("fused body");
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      const int bits = plugin::element_bits(operand.tensor.element_type);
      // Copies move whole bytes. An element that starts within one would need shifts.
      if (bits < 8) return plugin::unimplemented("elements that are not whole bytes");
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR)
        return plugin::unimplemented("blocked layout");
    }
  }
  if (op.outputs[0].tensor.element_type != op.inputs[0].tensor.element_type) {
    return plugin::invalid_argument(plugin::kind_of(op) + ": the output has another element type");
  }
  return plugin::ok();
}

}  // namespace sluice::cpu
