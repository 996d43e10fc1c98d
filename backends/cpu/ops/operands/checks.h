#pragma once

#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if every operand that is there is a row-major f32 and nothing is fused to the operation.
Status check_plain_f32(const sluice_op& op);

/// `axis` counted from the front. Requires: -rank <= axis < rank.
inline std::int64_t from_front(std::int64_t axis, std::int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

/// Product of dims [begin, end). Requires: they are known.
std::int64_t product(std::span<const std::int64_t> dims, std::int64_t begin, std::int64_t end);

}  // namespace sluice::cpu
