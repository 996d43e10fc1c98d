#pragma once

// The register tile under every matrix product: `rows` x `vectors * kLanes` outputs, all of K in
// one sweep, unrolled by the template so that the compiler keeps every accumulator in a register
// (kernels/spill_test.py checks the machine code). Included by kernel sources only.

#include <type_traits>

#include "core/isa.h"
#include "core/simd.h"
#include "kernels/convert/half.h"
#include "kernels/matrix/bf16.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Rows and vector columns of the largest tile, and the width of a packed panel of B in floats. The
/// accumulators, one row of B and one broadcast value fill the register file (24 + 4 + 1 of 32, or
/// 12 + 2 + 1 of 16).
inline constexpr int kTileRows = 6;
inline constexpr int kTileVectors = kVectorRegisters == 32 ? 4 : 2;
inline constexpr int kPanelWidth = kTileVectors * kLanes;

inline constexpr int kCacheLine = 64;

/// Operands of one tile. A(i, p) = a[i * a_row + p * a_step], B(p, j) = b[p * b_row + j],
/// C(i, j) = c[i * c_row + j]. Strides are in floats.
struct TileArgs {
  std::int64_t depth;
  const float* a;
  std::int64_t a_row;
  std::int64_t a_step;
  const float* b;
  const void* narrow_b;  ///< in the place of `b`, for tiles that read a B of fewer than 32 bits
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
  const float* bias;           ///< added to every row when this is the first sweep; may be null
  const char* prefetch;        ///< brought to L2 on the way; may be null
  std::int64_t prefetch_step;  ///< bytes by which `prefetch` advances per step of the depth
  int tail;         ///< columns used of the last vector, 1..kLanes; B is readable beyond them
  bool accumulate;  ///< C holds the sum of earlier sweeps
  float scale = 1;  ///< of what becomes C
};

using TileFunction = void (*)(const TileArgs&);

template <typename B>
SLUICE_CPU_INLINE const B* b_of(const TileArgs& t) {
  if constexpr (std::is_same_v<B, float>) {
    return t.b;
  } else {
    return static_cast<const B*>(t.narrow_b);
  }
}

/// A packed row of a panel. In bf16 it has its vectors in pairs, and an odd last one alone.
template <int kVectors, typename B>
SLUICE_CPU_INLINE void load_row(const B* b, Vec (&row)[kVectors]) {
  constexpr int kPaired = std::is_same_v<B, Bf16> ? kVectors / 2 * 2 : 0;
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kPaired > 0) {
      if (v < kPaired) {
        if (v % 2 == 0) load_pair(b + v * kLanes, row[v], row[v + 1]);
        continue;
      }
    }
    row[v] = load(b + v * kLanes);
  }
}

template <int kRows, int kVectors, bool kPrefetch, typename B = float>
SLUICE_CPU_INLINE void sweep(const TileArgs& t, Vec (&acc)[kRows][kVectors]) {
  const float* a = t.a;
  const B* b = b_of<B>(t);
  const char* ahead = t.prefetch;
  const std::int64_t step_ahead = t.prefetch_step;
  const std::int64_t a_row = t.a_row;
  const std::int64_t a_step = t.a_step;
  const std::int64_t b_row = t.b_row;
  const std::int64_t stream_ahead = kRows <= kStreamRows ? kStreamAheadBytes : 0;
#pragma GCC unroll 2
  for (std::int64_t p = t.depth; p > 0; --p) {
    if constexpr (kPrefetch) {
      prefetch_to_l2(ahead);
      ahead += step_ahead;
    }
    Vec row[kVectors];
    if constexpr (kRows <= kStreamRows) {
      SLUICE_CPU_UNROLL
      for (int byte = 0; byte < kVectors * kLanes * static_cast<int>(sizeof(B));
           byte += kCacheLine) {
        prefetch(reinterpret_cast<const char*>(b) + stream_ahead + byte);
      }
    }
    load_row(b, row);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Vec x = broadcast(a[i * a_row]);
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = fmadd(x, row[v], acc[i][v]);
    }
    a += a_step;
    b += b_row;
  }
}

/// One tile: C (+)= A * B (+ bias), scaled.
template <int kRows, int kVectors, typename B>
void tile(const TileArgs& t) {
  constexpr int kLast = kVectors - 1;
  Vec acc[kRows][kVectors];
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int width = v == kLast ? t.tail : kLanes;
    const Vec start = t.bias == nullptr ? Vec{} : load_first(t.bias + v * kLanes, width);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      acc[i][v] = t.accumulate ? load_first(t.c + i * t.c_row + v * kLanes, width) : start;
    }
  }
  if (t.prefetch != nullptr) {
    sweep<kRows, kVectors, true, B>(t, acc);
  } else {
    sweep<kRows, kVectors, false, B>(t, acc);
  }
  if (t.scale != 1) {
    const Vec scale = broadcast(t.scale);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] *= scale;
    }
  }
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    float* c = t.c + i * t.c_row;
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kLast; ++v) store(c + v * kLanes, acc[i][v]);
    store_first(c + kLast * kLanes, acc[i][kLast], t.tail);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
