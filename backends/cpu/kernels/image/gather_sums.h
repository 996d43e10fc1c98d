#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Weighted sums of elements of a plane: sum i is that of the taps from ends[i - 1] (0 of the
/// first) to ends[i], each weights[t] * plane[index[t]].
struct GatherSums {
  std::int32_t* index = nullptr;
  float* weights = nullptr;
  std::int32_t* ends = nullptr;
  std::int64_t sums = 0;
  std::int64_t taps = 0;  ///< of all sums so far

  void add(std::int64_t at, double weight) {
    index[taps] = static_cast<std::int32_t>(at);
    weights[taps] = static_cast<float>(weight);
    ++taps;
  }
  void finish_sum() {
    ends[sums] = static_cast<std::int32_t>(taps);
    ++sums;
  }
};

SLUICE_CPU_EACH_ISA(
    /// Writes scale times each sum, or adds that to what is there.
    void gather_sums(const GatherSums& g, const float* plane, float scale, bool adds,
                     float* output);)

}  // namespace sluice::cpu
