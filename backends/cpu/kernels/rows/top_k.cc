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

template <bool kLargest, bool kTakesEqual>
SLUICE_CPU_INLINE void keep(const float* __restrict row, std::int64_t columns, std::int32_t place,
                            float* __restrict best, std::int32_t* __restrict places) {
  for (std::int64_t c = 0; c < columns; ++c) {  // the compiler makes masks of it
    const float a = row[c];
    const float b = best[c];
    const bool is_beyond = kLargest ? a > b : a < b;
    const bool is_nan = (a != a) & (kTakesEqual | (b == b));
    const bool is_better = is_beyond | is_nan | (kTakesEqual & (a == b));
    best[c] = is_better ? a : b;
    places[c] = is_better ? place : places[c];
  }
}

}  // namespace

void keep_extremes(const float* row, std::int64_t columns, std::int32_t place, bool is_largest,
                   bool takes_equal, float* best, std::int32_t* places) {
  if (is_largest) {
    takes_equal ? keep<true, true>(row, columns, place, best, places)
                : keep<true, false>(row, columns, place, best, places);
  } else {
    takes_equal ? keep<false, true>(row, columns, place, best, places)
                : keep<false, false>(row, columns, place, best, places);
  }
}

std::int64_t find_beyond(const float* x, std::int64_t from, std::int64_t count, float bound,
                         bool is_largest) {
  return is_largest ? find<true>(x, from, count, bound) : find<false>(x, from, count, bound);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
