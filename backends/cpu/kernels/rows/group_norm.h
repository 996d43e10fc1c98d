#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"

namespace sluice::cpu {

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with statistics over each of `rows`
/// runs of `channels` x `inner` floats. Row r belongs to group r % groups.
struct GroupNormPlan {
  std::int64_t rows = 0;  ///< batch * groups
  std::int64_t groups = 1;
  std::int64_t channels = 1;  ///< of a group
  std::int64_t inner = 1;
  float epsilon = 1e-5F;
  bool scales_groups = false;  ///< one scale and bias per group, not per channel
};

/// `scale` and `bias` hold a float per channel, or per group. `y` may be `x`.
SLUICE_CPU_EACH_ISA(void run_group_norm(const GroupNormPlan& plan, const float* x,
                                        const float* scale, const float* bias, float* y,
                                        const Worker& worker);)

}  // namespace sluice::cpu
