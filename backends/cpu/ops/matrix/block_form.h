#pragma once

#include "kernels/matrix/block_matrix.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The B of a sluice::NarrowMatMul whose numbers of 4 or 8 bits have scales by blocks of a row:
/// inputs 1 to 3, read as they lie in the package.
struct BlockForm {
  BlockMatrix matrix;  ///< without addresses
  enum class Zeros : std::uint8_t { kNone, kOne, kEach, kFloats } zeros = Zeros::kNone;
  bool rounds_rows = false;

  /// The matrix of one run.
  BlockMatrix at(const Run& run) const;
  /// What a run with `n` columns reads of B, its scales and its zero points.
  void tell(Extents& extents, std::int64_t n) const;
};

/// Fails: kUnimplemented if there is no kernel for the form, kInvalidArgument if sizes contradict
/// each other.
Status check_blocks(const sluice_op& op);

/// Requires: check_blocks is ok.
BlockForm read_block_form(const sluice_op& op);

}  // namespace sluice::cpu
