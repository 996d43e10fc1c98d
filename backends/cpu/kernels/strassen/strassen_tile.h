#pragma once

// The register tile under Strassen's method: a product, or two, of which the sum leaves the
// registers (see strassen_table.h). Included by kernel sources only.

#include "kernels/matrix/gemm_tile.h"
#include "kernels/strassen/strassen_table.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Three vectors by eight rows fill 32 registers as four by six do, and blocks of 32 rows, and
/// widths like 768 in 16 blocks, are whole numbers of them.
inline constexpr int kStrassenRows = kVectorRegisters == 32 ? 8 : kTileRows;
inline constexpr int kStrassenVectors = kVectorRegisters == 32 ? 3 : kTileVectors;
/// Pairs of steps of the depth in which a tile of X is fetched.
inline constexpr int kStrassenFetchSteps = 96;

/// Where X goes: a tile's rows of a block, one right behind the other.
struct StrassenTarget {
  float* x;
  bool is_first;  ///< holds nothing yet
};

/// Memory to prefetch to L2 during a tile, one cache line every other step of the depth. It
/// consists of rows of lines.
struct StrassenPrefetch {
  const char* at;
  std::int64_t left;   ///< lines, up to the end of the row
  std::int64_t lines;  ///< of a whole row
  std::int64_t jump;   ///< bytes from the end of a row to the next one
};

/// One product, or two whose sum is needed. In each, A(i, p) = a[i * a_row + p] and
/// B(p, j) = b[p * width + j], where `width` is the tile's.
struct StrassenTileArgs {
  std::int64_t depth;  ///< even
  int products;
  const float* a[2];
  std::int64_t a_row;  ///< floats
  const float* b[2];
  const char* next_b[2];     ///< brought to L2 on the way
  std::int64_t next_b_step;  ///< bytes per step of the depth
  /// Two products: the first is subtracted from `rest`. One product: the sum starts with `rest`.
  StrassenTarget rest;
  StrassenTarget to;    ///< the sum is added to this
  StrassenTarget from;  ///< the sum is subtracted from this; may be null
  StrassenPrefetch prefetch[2];
};

using StrassenTileFunction = void (*)(const StrassenTileArgs&);

/// Adds product `r` to `acc` and prefetches the tile's part of X.
template <int kRows, int kVectors>
SLUICE_CPU_INLINE void strassen_sweep(const StrassenTileArgs& t, int r, const float* x,
                                      Vec (&acc)[kRows][kVectors]) {
  const float* a = t.a[r];
  const float* b = t.b[r];
  const std::int64_t next_b_step = t.next_b_step;
  const char* next_b = t.next_b[r];
  const char* next_x = reinterpret_cast<const char*>(x);
  StrassenPrefetch ahead = t.prefetch[r];
  const std::int64_t a_row = t.a_row;
  for (std::int64_t p = t.depth; p > 0; p -= 2) {
    prefetch_to_l2(ahead.at);
    ahead.at += kCacheLine;
    if (--ahead.left == 0) {
      ahead.at += ahead.jump;
      ahead.left = ahead.lines;
    }
    prefetch(next_x);
    next_x += kRows * kVectors * sizeof(Vec) / kStrassenFetchSteps;
    SLUICE_CPU_UNROLL
    for (int step = 0; step < 2; ++step) {
      prefetch_to_l2(next_b);
      next_b += next_b_step;
      Vec row[kVectors];
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kLanes);
      SLUICE_CPU_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const Vec value = broadcast(a[i * a_row]);
        SLUICE_CPU_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[i][v] = fmadd(value, row[v], acc[i][v]);
      }
      ++a;
      b += kVectors * kLanes;
    }
  }
}

/// Stores sign * acc to x, or adds it if x holds a sum already.
template <int kSign, int kRows, int kVectors>
SLUICE_CPU_INLINE void strassen_add(const StrassenTarget& target,
                                    const Vec (&acc)[kRows][kVectors]) {
  float* x = target.x;
  if (target.is_first) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows * kVectors; ++i) {
      const Vec value = acc[i / kVectors][i % kVectors];
      store(x + i * kLanes, kSign > 0 ? value : -value);
    }
    return;
  }
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows * kVectors; ++i) {
    const Vec value = acc[i / kVectors][i % kVectors];
    float* at = x + i * kLanes;
    store(at, kSign > 0 ? load(at) + value : load(at) - value);
  }
}

template <int kRows, int kVectors>
void strassen_tile(const StrassenTileArgs& t) {
  Vec acc[kRows][kVectors];
  if (t.products == 2) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows * kVectors; ++i) acc[i / kVectors][i % kVectors] = Vec{};
    strassen_sweep<kRows, kVectors>(t, 0, t.from.x != nullptr ? t.from.x : t.to.x, acc);
    strassen_add<-1>(t.rest, acc);
  } else {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows * kVectors; ++i) {
      acc[i / kVectors][i % kVectors] = load(t.rest.x + i * kLanes);
    }
  }
  strassen_sweep<kRows, kVectors>(t, t.products - 1, t.to.x, acc);
  strassen_add<1>(t.to, acc);
  if (t.from.x != nullptr) strassen_add<-1>(t.from, acc);
}

template <int kRows>
SLUICE_CPU_INLINE StrassenTileFunction strassen_tile_of(int vectors) {
  if constexpr (kStrassenVectors == 3) {
    if (vectors == 3) return strassen_tile<kRows, 3>;
  }
  return vectors == 2 ? strassen_tile<kRows, 2> : strassen_tile<kRows, 1>;
}

/// Requires: 1 <= rows <= kStrassenRows, 1 <= vectors <= kStrassenVectors.
SLUICE_CPU_INLINE StrassenTileFunction find_strassen_tile(std::int64_t rows, int vectors) {
  if constexpr (kStrassenRows == 8) {
    if (rows == 8) return strassen_tile_of<8>(vectors);
    if (rows == 7) return strassen_tile_of<7>(vectors);
  }
  switch (rows) {
    case 1: return strassen_tile_of<1>(vectors);
    case 2: return strassen_tile_of<2>(vectors);
    case 3: return strassen_tile_of<3>(vectors);
    case 4: return strassen_tile_of<4>(vectors);
    case 5: return strassen_tile_of<5>(vectors);
    default: return strassen_tile_of<6>(vectors);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
