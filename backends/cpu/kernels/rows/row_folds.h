#pragma once

// Passes over rows of floats. Included by kernel sources only.

#include <cstdint>

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Whether a lane of a mask is set.
SLUICE_CPU_INLINE bool any(VecI mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256((__m256i)mask, (__m256i)mask) == 0;
#elif defined(__SSE2__)
  return _mm_movemask_ps((__m128)mask) != 0;
#else
  std::int32_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= mask[i];
  return all != 0;
#endif
}

/// Neither infinite nor NaN.
SLUICE_CPU_INLINE VecI is_finite(Vec x) { return abs(x) < broadcast(__builtin_inff()); }

/// The larger of two, or NaN if either is. Without checks a NaN of `b` is lost: who leaves them out
/// has looked for one.
template <bool kChecks = true>
SLUICE_CPU_INLINE Vec larger(Vec a, Vec b) {
  if constexpr (!kChecks) return max(b, a);
  return select(b != b, b, max(b, a));  // `max` gives its second operand if either is NaN
}

inline constexpr int kFoldChains = 4;  ///< sums kept side by side, to hide the latency of one

/// Lanes of `v` from `count` on become `filler`.
SLUICE_CPU_INLINE Vec fill_behind(Vec v, int count, float filler) {
  VecI index;
  for (int i = 0; i < kLanes; ++i) index[i] = i;
  return select(index < broadcast_int(count), v, broadcast(filler));
}

/// Combines `map(vector)` over a row into one vector; `filler` is neutral after `map`.
template <typename Map, typename Combine>
SLUICE_CPU_INLINE Vec fold_row(const float* x, std::int64_t cols, float filler, Map map,
                               Combine combine) {
  Vec acc[kFoldChains];
  for (Vec& a : acc) a = broadcast(filler);
  std::int64_t c = 0;
  for (; c + kFoldChains * kLanes <= cols; c += kFoldChains * kLanes) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kFoldChains; ++i) acc[i] = combine(acc[i], map(load(x + c + i * kLanes)));
  }
  for (; c + kLanes <= cols; c += kLanes) acc[0] = combine(acc[0], map(load(x + c)));
  if (c < cols) {
    const int left = static_cast<int>(cols - c);
    acc[1] = combine(acc[1], fill_behind(map(load_first(x + c, left)), left, filler));
  }
  return combine(combine(acc[0], acc[1]), combine(acc[2], acc[3]));
}

/// y[c] = map(x[c], c, lanes), vector by vector.
template <typename Map>
SLUICE_CPU_INLINE void map_row(const float* x, float* y, std::int64_t cols, Map map) {
  std::int64_t c = 0;
  for (; c + kLanes <= cols; c += kLanes) store(y + c, map(load(x + c), c, kLanes));
  if (c < cols) {
    const int left = static_cast<int>(cols - c);
    store_first(y + c, map(load_first(x + c, left), c, left), left);
  }
}

SLUICE_CPU_INLINE Vec add(Vec a, Vec b) { return a + b; }

/// Whether a mean of squares may be wrong because a square was infinite, or vanished.
SLUICE_CPU_INLINE bool leaves_range(float mean_of_squares, float epsilon) {
  constexpr float kLargest = 3.4e38f;
  constexpr float kTiny = 1e-30f;
  return !(mean_of_squares <= kLargest) || (mean_of_squares < kTiny && epsilon < kTiny);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
