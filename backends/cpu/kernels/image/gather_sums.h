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

/// Planes that the same sums are taken of. Distances in floats.
struct GatherPlanes {
  const float* plane = nullptr;
  std::int64_t plane_size = 0;  ///< from one plane to the next
  float* output = nullptr;      ///< sum 0 of the first plane
  std::int64_t output_size = 0;
  std::int64_t planes = 0;
  float scale = 1;
  bool adds = false;  ///< to what is there
};

SLUICE_CPU_EACH_ISA(
    /// Writes scale times each sum of each plane, or adds that.
    void gather_sums(const GatherSums& g, const GatherPlanes& planes);
    /// Writes sums [first, first + count) of 16 planes that lie as a block of c16, [pixels][16], to
    /// [count][16].
    void gather_block_sums(const GatherSums& g, const float* block, std::int64_t first,
                           std::int64_t count, float* to);)

}  // namespace sluice::cpu
