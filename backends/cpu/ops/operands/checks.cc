#include "ops/operands/checks.h"

namespace sluice::cpu {

Status check_plain_f32(const sluice_op& op) {
  if (op.body != nullptr) return plugin::unimplemented("fused body");
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      if (operand.tensor.element_type != plugin::kF32) return plugin::unimplemented("not f32");
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
        return plugin::unimplemented("blocked layout");
      }
    }
  }
  return plugin::ok();
}

std::int64_t product(std::span<const std::int64_t> dims, std::int64_t begin, std::int64_t end) {
  if (end <= begin) return 1;
  return plugin::num_elements(
      dims.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

}  // namespace sluice::cpu
