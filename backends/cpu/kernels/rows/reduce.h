#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"

namespace sluice::cpu {

enum class ReduceKind : std::uint8_t {
  kSum,
  kSumOfSquares,
  kSumOfMagnitudes,
  kMax,
  kMin,
  kProduct
};

/// Folds the middle axis of a dense [outer][axis][inner] tensor, then divides by `divisor` (the
/// number of elements for a mean) and, where asked, takes the root.
struct ReducePlan {
  std::int64_t outer = 0;
  std::int64_t axis = 0;
  std::int64_t inner = 1;
  ReduceKind kind = ReduceKind::kSum;
  double divisor = 1;
  bool root = false;
};

/// `y` is [outer][inner]. Requires: axis >= 1, no product.
SLUICE_CPU_EACH_ISA(void run_reduce(const ReducePlan& plan, const float* x, float* y,
                                    const Worker& worker);)

}  // namespace sluice::cpu
