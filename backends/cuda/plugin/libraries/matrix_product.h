// Products of matrices as a library takes them: one stack with one stride.
#pragma once

#include <cstdint>
#include <optional>

#include "sluice/backend.hpp"

namespace sluice::cuda {

/// y[i] = a[i] * b[i] for `batch` matrices y[i] of [m, n], row by row.
struct MatrixProduct {
  std::int64_t m = 1, n = 1, k = 1;
  bool turns_a = false;  ///< a lies as [k, m] instead of [m, k]
  bool turns_b = false;  ///< b lies as [n, k] instead of [k, n]
  std::int64_t batch = 1;
  std::int64_t a_stride = 0;  ///< elements from one matrix to the next; 0: all share one
  std::int64_t b_stride = 0;
};

/// The product that a Gemm or MatMul computes, without its factors and third input. A stack that
/// meets one matrix on the right is one tall matrix. Nothing for vectors, for operands that are
/// stretched along some axes of the stack but not all, and for dimensions past 2^31 - 1.
/// Requires: check_op was ok, and every dimension is known.
std::optional<MatrixProduct> read_product(const sluice_op& op);

}  // namespace sluice::cuda
