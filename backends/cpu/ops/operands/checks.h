#pragma once

#include <algorithm>

#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if every operand that is there is a row-major f32 and nothing is fused to the operation.
Status check_plain_f32(const sluice_op& op);

inline bool has_input(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

inline bool same_dims(const sluice_tensor& a, const sluice_tensor& b) {
  return std::ranges::equal(plugin::dims_of(a), plugin::dims_of(b));
}

/// Requires: whole bytes.
inline std::int64_t element_bytes(const sluice_tensor& tensor) {
  return plugin::element_bits(tensor.element_type) / 8;
}

/// `axis` counted from the front. Requires: -rank <= axis < rank.
inline std::int64_t from_front(std::int64_t axis, std::int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

/// Product of dims [begin, end); -1 past 64 bits, as of the axes of a tensor that another axis
/// leaves without elements. Requires: they are known.
std::int64_t product(std::span<const std::int64_t> dims, std::int64_t begin, std::int64_t end);

}  // namespace sluice::cpu
