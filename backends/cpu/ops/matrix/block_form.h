#pragma once

#include "kernels/matrix/block_matrix.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The B of a sluice::NarrowMatMul, or the stack of a sluice::RoutedMatMul, whose numbers of 4 or 8
/// bits have scales by blocks of a row: inputs 1 to 3, read as they lie in the package.
struct BlockForm {
  BlockMatrix matrix;  ///< without addresses
  enum class Zeros : std::uint8_t { kNone, kOne, kEach, kFloats } zeros = Zeros::kNone;
  bool rounds_rows = false;

  /// The matrix of one run. `first`: how many columns of B stand before it, in a stack.
  BlockMatrix at(const Run& run, std::int64_t first = 0) const;
  /// What a run with `n` columns reads of B, its scales and its zero points.
  void tell(Extents& extents, std::int64_t n) const;
};

/// Fails: kUnimplemented if there is no kernel for the form, kInvalidArgument if sizes contradict
/// each other.
/// `is_flipped`: rows of B run along K.
Status check_blocks(const sluice_op& op, bool is_flipped);

/// Requires: check_blocks is ok.
BlockForm read_block_form(const sluice_op& op);

}  // namespace sluice::cpu
