#pragma once

// Rows of numbers of any type folded in vectors. Included by kernel sources only.

#include <cstdint>

#include "kernels/elements/numbers.h"
#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

template <typename T>
struct VectorType {
  typedef T Type __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
};
template <typename T>
using VectorOf = typename VectorType<T>::Type;

template <typename T>
inline constexpr int kLanesOf = SLUICE_CPU_VECTOR_BYTES / static_cast<int>(sizeof(T));

/// Signed integers as wide as T: what comparisons of vectors of T give, and what numbers lanes.
template <typename T>
using SignedOf = std::make_signed_t<UnsignedOf<T>>;

template <typename T>
SLUICE_CPU_INLINE VectorOf<T> load_numbers(const T* p) {
  VectorOf<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <typename T>
SLUICE_CPU_INLINE VectorOf<T> all_of(T x) {
  return x - VectorOf<T>{};
}

/// The first numbers of as many rows as a vector of numbers of at least 32 bits has lanes. Rows are
/// `s` numbers apart.
template <typename T>
SLUICE_CPU_INLINE VectorOf<T> column_of(const T* x, std::int64_t s) {
  if constexpr (kLanesOf<T> == 2) {
    return VectorOf<T>{x[0], x[s]};
  } else if constexpr (kLanesOf<T> == 4) {
    return VectorOf<T>{x[0], x[s], x[2 * s], x[3 * s]};
  } else if constexpr (kLanesOf<T> == 8) {
    return VectorOf<T>{x[0], x[s], x[2 * s], x[3 * s], x[4 * s], x[5 * s], x[6 * s], x[7 * s]};
  } else {
    return VectorOf<T>{x[0],      x[s],      x[2 * s],  x[3 * s], x[4 * s],  x[5 * s],
                       x[6 * s],  x[7 * s],  x[8 * s],  x[9 * s], x[10 * s], x[11 * s],
                       x[12 * s], x[13 * s], x[14 * s], x[15 * s]};
  }
}

/// The larger or smaller of two, or of the lanes of two vectors; `b` if either is NaN.
template <bool kLargest, typename V>
SLUICE_CPU_INLINE V beyond(V a, V b) {
  if constexpr (kLargest) return a > b ? a : b;
  return a < b ? a : b;
}

/// The largest or smallest of `count` >= 1 numbers; NaN if one is NaN.
template <bool kLargest, typename T>
SLUICE_CPU_INLINE T extreme_of(const T* x, std::int64_t count) {
  constexpr int kWidth = kLanesOf<T>;
  if (count < kWidth) {
    T best = x[0];
    for (std::int64_t i = 1; i < count; ++i) {
      const T better = beyond<kLargest>(best, x[i]);
      best = best != best ? best : better;
    }
    return best;
  }
  VectorOf<T> best[kFoldChains];
  for (VectorOf<T>& b : best) b = load_numbers(x);
  VectorOf<SignedOf<T>> nans = {};
  const auto join = [&](int chain, const T* p) {
    const VectorOf<T> v = load_numbers(p);
    if constexpr (kIsFloat<T>) nans |= v != v;
    best[chain] = beyond<kLargest>(best[chain], v);
  };
  std::int64_t i = 0;
  for (; i + kFoldChains * kWidth <= count; i += kFoldChains * kWidth) {
    SLUICE_CPU_UNROLL
    for (int c = 0; c < kFoldChains; ++c) join(c, x + i + c * kWidth);
  }
  for (; i + kWidth <= count; i += kWidth) join(0, x + i);
  if (i < count) join(1, x + count - kWidth);  // some of them for the second time
  if constexpr (kIsFloat<T>) {
    if (any((VecI)nans)) return static_cast<T>(__builtin_nanf(""));
  }
  best[0] =
      beyond<kLargest>(beyond<kLargest>(best[0], best[1]), beyond<kLargest>(best[2], best[3]));
  T lanes[kWidth];
  __builtin_memcpy(lanes, &best[0], sizeof lanes);
  for (int width = kWidth / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = beyond<kLargest>(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
