#pragma once

// A square of kLanes by kLanes floats, transposed in registers. Included by kernel sources only.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Lanes of the first or second half of a and b, taken in turns.
SLUICE_CPU_INLINE Vec interleave(Vec a, Vec b, int half) {
  VecI order;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) order[i] = half * kLanes / 2 + i / 2 + (i % 2) * kLanes;
#if defined(__clang__)  // has no shuffle by a computed order, and finds the instruction by itself
  Vec result;
  for (int i = 0; i < kLanes; ++i) {
    result[i] = order[i] < kLanes ? a[order[i]] : b[order[i] - kLanes];
  }
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

/// `rows`, kLanes of them, become columns: log2(kLanes) rounds of perfect shuffles.
SLUICE_CPU_INLINE void transpose_lanes(Vec* rows) {
#pragma GCC unroll 4
  for (int width = kLanes; width > 1; width /= 2) {
    Vec next[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = interleave(rows[i], rows[i + kLanes / 2], 0);
      next[2 * i + 1] = interleave(rows[i], rows[i + kLanes / 2], 1);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
