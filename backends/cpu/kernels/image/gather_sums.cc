#include "kernels/image/gather_sums.h"

#include "core/simd.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

namespace {

/// Keeps the compiler from making vectors of sums: the instructions that gather a vector are slower
/// than as many loads.
SLUICE_CPU_INLINE float by_itself(float x) {
  asm("" : "+x"(x));
  return x;
}

/// Sums of planes side by side: an index and a weight are read once for all planes. Each plane has
/// sums of its own, so that none waits for another.
template <int kPlanes>
void sum_planes(const GatherSums& g, const GatherPlanes& p, const float* plane, float* output) {
  const std::int32_t* index = g.index;
  const float* weights = g.weights;
  std::int64_t t = 0;
  for (std::int64_t i = 0; i < g.sums; ++i) {
    float sums[kPlanes] = {};
    for (const std::int64_t end = g.ends[i]; t < end; ++t) {
      const float* at = plane + index[t];
      const float weight = weights[t];
      SLUICE_CPU_UNROLL
      for (int k = 0; k < kPlanes; ++k) {
        sums[k] = by_itself(sums[k] + weight * at[k * p.plane_size]);
      }
    }
    SLUICE_CPU_UNROLL
    for (int k = 0; k < kPlanes; ++k) {
      float& to = output[k * p.output_size + i];
      to = p.adds ? to + p.scale * sums[k] : p.scale * sums[k];
    }
  }
}

}  // namespace

void gather_sums(const GatherSums& g, const GatherPlanes& p) {
  constexpr int kTogether = 4;
  std::int64_t c = 0;
  for (; c + kTogether <= p.planes; c += kTogether) {
    sum_planes<kTogether>(g, p, p.plane + c * p.plane_size, p.output + c * p.output_size);
  }
  for (; c < p.planes; ++c) {
    sum_planes<1>(g, p, p.plane + c * p.plane_size, p.output + c * p.output_size);
  }
}

void gather_block_sums(const GatherSums& g, const float* block, std::int64_t first,
                       std::int64_t count, float* to) {
  constexpr int kVectors = kBlock / kLanes;
  std::int64_t t = first == 0 ? 0 : g.ends[first - 1];
  for (std::int64_t i = first; i < first + count; ++i, to += kBlock) {
    Vec sums[kVectors] = {};
    for (const std::int64_t end = g.ends[i]; t < end; ++t) {
      const float* at = block + std::int64_t{g.index[t]} * kBlock;
      const Vec weight = broadcast(g.weights[t]);
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[v] = fmadd(weight, load(at + v * kLanes), sums[v]);
    }
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) store(to + v * kLanes, sums[v]);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
