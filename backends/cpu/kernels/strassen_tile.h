#pragma once

// The register tile under Strassen's method: a tile of a product of sums, added to or taken from
// several blocks of C while it is in registers. Included by kernel sources only.

#include "kernels/gemm_tile.h"
#include "kernels/strassen_table.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Three vectors by eight rows fill 32 registers as four by six do, and blocks of 32 rows, and
/// widths like 768 in 16 blocks, are whole numbers of them.
inline constexpr int kStrassenRows = kVectorRegisters == 32 ? 8 : kTileRows;
inline constexpr int kStrassenVectors = kVectorRegisters == 32 ? 3 : kTileVectors;

/// A(i, p) = a[i * a_row + p], B(p, j) = b[p * width + j] with the tile's width.
struct StrassenTileArgs {
  std::int64_t depth;
  const float* a;
  std::int64_t a_row;  ///< floats
  const float* b;
  const char* next_b;        ///< brought to L2 on the way
  std::int64_t next_b_step;  ///< bytes per step of the depth
  int count;                 ///< of targets
  float* target[kStrassenMaxTerms];
  float sign[kStrassenMaxTerms];
  bool is_first[kStrassenMaxTerms];  ///< the target holds nothing yet
  std::int64_t target_row;           ///< floats
};

using StrassenTileFunction = void (*)(const StrassenTileArgs&);

template <int kRows, int kVectors>
SLUICE_CPU_INLINE void strassen_sweep(const StrassenTileArgs& t, Vec (&acc)[kRows][kVectors]) {
  const float* a = t.a;
  const float* b = t.b;
  const char* next_b = t.next_b;
  const std::int64_t next_b_step = t.next_b_step;
  const std::int64_t a_row = t.a_row;
#pragma GCC unroll 2
  for (std::int64_t p = t.depth; p > 0; --p) {
    prefetch_to_l2(next_b);
    next_b += next_b_step;
    Vec row[kVectors];
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kLanes);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Vec x = broadcast(a[i * a_row]);
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = fmadd(x, row[v], acc[i][v]);
    }
    ++a;
    b += kVectors * kLanes;
  }
}

template <int kRows, int kVectors>
void strassen_tile(const StrassenTileArgs& t) {
  Vec acc[kRows][kVectors] = {};
  strassen_sweep<kRows, kVectors>(t, acc);
  for (int i = 0; i < t.count; ++i) {
    const Vec sign = broadcast(t.sign[i]);
    float* c = t.target[i];
    if (t.is_first[i]) {
      SLUICE_CPU_UNROLL
      for (int row = 0; row < kRows; ++row) {
        SLUICE_CPU_UNROLL
        for (int v = 0; v < kVectors; ++v) store(c + v * kLanes, acc[row][v] * sign);
        c += t.target_row;
      }
      continue;
    }
    SLUICE_CPU_UNROLL
    for (int row = 0; row < kRows; ++row) {
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        store(c + v * kLanes, fmadd(acc[row][v], sign, load(c + v * kLanes)));
      }
      c += t.target_row;
    }
  }
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
