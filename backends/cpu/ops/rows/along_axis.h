#pragma once

#include <cstdint>

#include "ops/operands/checks.h"

namespace sluice::cpu {

/// A dense tensor as [outer][axis][inner].
struct AlongAxis {
  std::int64_t outer = 1;
  std::int64_t axis = 1;
  std::int64_t inner = 1;

  std::int64_t elements() const { return outer * axis * inner; }
};

/// Requires: -rank <= axis < rank, all dimensions known.
inline AlongAxis along_axis(const sluice_tensor& tensor, std::int64_t axis) {
  const auto dims = plugin::dims_of(tensor);
  const std::int64_t at = from_front(axis, tensor.rank);
  return {product(dims, 0, at), dims[static_cast<std::size_t>(at)],
          product(dims, at + 1, tensor.rank)};
}

/// Ok if input 0 has that axis, all operands are row-major, and nothing is fused.
inline Status check_axis(const sluice_op& op, std::int64_t axis) {
  if (op.body != nullptr) return plugin::unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  if (axis < -x.rank || axis >= x.rank) return plugin::unimplemented("axis out of range");
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
        return plugin::unimplemented("blocked layout");
      }
    }
  }
  return plugin::ok();
}

/// The same of an f32.
inline Status check_f32_axis(const sluice_op& op, std::int64_t axis) {
  const bool is_f32 = op.inputs[0].tensor.element_type == plugin::kF32;
  return is_f32 ? check_axis(op, axis) : plugin::unimplemented("not f32");
}

}  // namespace sluice::cpu
