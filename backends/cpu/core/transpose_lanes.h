#pragma once

// Squares of vectors, transposed in registers. Included by kernel sources only.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Lanes of a, then of b, by their numbers in `order`, whose integers have the lanes' size.
template <typename Order, typename Row>
SLUICE_CPU_INLINE Row shuffle(Row a, Row b, Order order) {
#if defined(__clang__)  // has no shuffle by a computed order, and finds the instruction by itself
  constexpr int kSide = sizeof(Row) / sizeof(Row{}[0]);
  Row result;
  for (int i = 0; i < kSide; ++i) result[i] = order[i] < kSide ? a[order[i]] : b[order[i] - kSide];
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

/// Lanes of the first or second half of a and b, taken in turns.
template <typename Order, typename Row>
SLUICE_CPU_INLINE Row interleave(Row a, Row b, int half) {
  constexpr int kSide = sizeof(Row) / sizeof(Row{}[0]);
  Order order;
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) order[i] = half * kSide / 2 + i / 2 + (i % 2) * kSide;
  return shuffle(a, b, order);
}

/// `rows`, as many as they have lanes, become columns: log2 of their number rounds of perfect
/// shuffles.
template <typename Order, typename Row>
SLUICE_CPU_INLINE void transpose_rows(Row* rows) {
  constexpr int kSide = sizeof(Row) / sizeof(Row{}[0]);
#pragma GCC unroll 4
  for (int width = kSide; width > 1; width /= 2) {
    Row next[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave<Order>(rows[i], rows[i + kSide / 2], 0);
      next[2 * i + 1] = interleave<Order>(rows[i], rows[i + kSide / 2], 1);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) rows[i] = next[i];
  }
}

SLUICE_CPU_INLINE void transpose_lanes(Vec* rows) { transpose_rows<VecI>(rows); }

}  // namespace sluice::cpu::SLUICE_CPU_ISA
