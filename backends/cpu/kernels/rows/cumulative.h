#pragma once

#include "core/worker.h"
#include "kernels/elements/typed.h"

namespace sluice::cpu {

/// Running sums along the middle axis of a dense [outer][axis][inner] tensor.
struct CumulativePlan {
  std::int64_t outer = 1;
  std::int64_t axis = 1;
  std::int64_t inner = 1;
  bool is_exclusive = false;  ///< each sum is of what comes before
  bool is_reversed = false;   ///< from the end
};

/// Totals of floats are doubles; those of integers wrap. Along another axis than the last, up to
/// four floats are summed as floats before they join a total. `y` may be `x`.
/// Requires: i32, i64, u32, u64, f32 or f64.
SLUICE_CPU_EACH_ISA(void run_cumulative(const CumulativePlan& plan, Number type, const void* x,
                                        void* y, const Worker& worker);)

}  // namespace sluice::cpu
