#pragma once

#include <cstdint>

#include "ops/operands/broadcast.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Stacks of matrices [m, k] and [k, n] that are multiplied, the stacks broadcast.
struct MatrixStacks {
  std::int64_t m = 1, n = 1, k = 1;
  Dims batch;                 ///< of the result
  Dims a_strides, b_strides;  ///< along its dimensions, in matrices

  std::int64_t items() const { return plugin::num_elements(batch); }
  /// Which matrix of a factor meets item `item` of the result.
  std::int64_t matrix_of(const Dims& strides, std::int64_t item) const;
  /// How many matrices a factor has. Requires: there are items.
  std::int64_t matrices(const Dims& strides) const;
};

/// Reads the stacks of a MatMul. A vector is a row on the left, a column on the right.
/// Fails: kUnimplemented  the shapes do not fit, which the reference kernel reports
Status read_stacks(const sluice_op& op, MatrixStacks* stacks);

}  // namespace sluice::cpu
