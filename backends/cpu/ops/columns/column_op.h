#pragma once

#include <algorithm>
#include <memory>

#include "conv/columns/columns.h"
#include "core/divide.h"
#include "kernels/matrix/gemm.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {

/// Groups of channels of operations whose products are of columns.
struct ColumnChannels {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t inputs = 1;   ///< of a group
  std::int64_t outputs = 1;  ///< of a group
};

/// The product of one worker: C is rows x columns, B lies as it is computed.
inline GemmPlan column_product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  GemmPlan plan = GemmPlan::of(rows, columns, depth);
  plan.b_form = GemmB::kRows;
  return plan;
}

/// Columns that are computed at a time, so that a block of `rows` of them stays in the second-level
/// cache, and there is a block for each of some workers. Blocks are about as wide as each other,
/// and of whole vectors.
inline std::int64_t columns_at_once(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlockFloats = 128 << 10;
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kMost = 1024;
  constexpr std::int64_t kVector = 16;
  const std::int64_t most =
      std::clamp(kBlockFloats / std::max<std::int64_t>(rows, 1), kLeast, kMost);
  const std::int64_t even = divide_up(columns, divide_up(columns, most));
  return std::min(columns, divide_up(even, kVector) * kVector);
}

/// Reads a convolution of images [N, C, spatial...] with weights [M, C/group, kernel...] to
/// [N, M, spatial...].
/// Fails: kUnimplemented  operands that do not fit; see read_column_window
Status read_column_conv(const sluice_op& op, ColumnChannels* channels, ColumnWindow* window);

/// Convolutions that the other kernels refuse: three dimensions, or weights of each run.
Status check_column_conv(const sluice_op& op);
Status make_column_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
