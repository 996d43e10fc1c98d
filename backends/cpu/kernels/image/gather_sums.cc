#include "kernels/image/gather_sums.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

namespace {

/// Keeps the compiler from making vectors of sums: the instructions that gather a vector are slower
/// than as many loads.
SLUICE_CPU_INLINE float by_itself(float x) {
  asm("" : "+x"(x));
  return x;
}

}  // namespace

void gather_sums(const GatherSums& g, const float* plane, float scale, bool adds, float* output) {
  const std::int32_t* index = g.index;
  const float* weights = g.weights;
  const std::int32_t* ends = g.ends;
  const std::int64_t sums = g.sums;
  std::int64_t t = 0;
  for (std::int64_t i = 0; i < sums; ++i) {
    const std::int64_t end = ends[i];
    float even = 0;
    float odd = 0;
    for (; t + 4 <= end; t += 4) {
      even += weights[t] * plane[index[t]] + weights[t + 2] * plane[index[t + 2]];
      odd += weights[t + 1] * plane[index[t + 1]] + weights[t + 3] * plane[index[t + 3]];
      even = by_itself(even);
      odd = by_itself(odd);
    }
    for (; t < end; ++t) even = by_itself(even + weights[t] * plane[index[t]]);
    const float sum = scale * (even + odd);
    output[i] = adds ? output[i] + sum : sum;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
