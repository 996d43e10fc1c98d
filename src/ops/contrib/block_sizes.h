// What MatMulNBits, MatMulBnb4 and GatherBlockQuantized demand of attributes and inputs.
#pragma once

#include "ops/lowering/lowering.h"

namespace sluice::ops {

inline constexpr std::int64_t kMaxBlockSize = std::int64_t{1} << 31;

inline Status check_block(const Lowering& op, std::int64_t bits, std::int64_t block) {
  if (bits != 2 && bits != 4 && bits != 8) {
    return op.error("attribute bits is {}; it must be 2, 4 or 8", bits);
  }
  if (block < 16 || block > kMaxBlockSize || (block & (block - 1)) != 0) {
    return op.error("attribute block_size is {}; it must be a power of 2 from 16 on", block);
  }
  return ok_status();
}

inline Status not_constant(std::string_view input) {
  return unimplemented(
      "input {} must be a constant; --overridable none makes constants of initializers that are "
      "inputs",
      input);
}

}  // namespace sluice::ops
