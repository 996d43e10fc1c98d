#include "kernels/rows/top_k.h"

#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

template <bool kLargest>
SLUICE_CPU_INLINE std::int64_t find(const float* x, std::int64_t from, std::int64_t count,
                                    float bound) {
  const Vec bounds = broadcast(bound);
  std::int64_t i = from;
  for (; i + kBeyondStep <= count; i += kBeyondStep) {
    VecI is_beyond = {};
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kBeyondStep / kLanes; ++v) {
      const Vec values = load(x + i + v * kLanes);
      // Negated: a NaN on either side counts, and the caller decides.
      is_beyond |= ~(kLargest ? values <= bounds : values >= bounds);
    }
    if (any(is_beyond)) return i;
  }
  return i < count ? i : count;
}

}  // namespace

std::int64_t find_beyond(const float* x, std::int64_t from, std::int64_t count, float bound,
                         bool is_largest) {
  return is_largest ? find<true>(x, from, count, bound) : find<false>(x, from, count, bound);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
