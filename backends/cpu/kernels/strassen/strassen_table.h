#pragma once

// Which blocks Strassen's products are sums of, and how C follows from them. Included by kernel
// sources only.
//
// The seven products stand in an order, P0 to P6, in which the four sums of them that C needs are
// made with few additions, the first two of three pairs each in the registers in which they are
// computed:
//
//     X3 = P0 + P1    X2 = P2 + P3    X1 = P4 + P5    X0 = P6 - P0 - P2 - P4
//
//     C11 = X0 + X2   C12 = X1        C21 = X2        C22 = X0 + X1 + X3
//
// So pair p belongs to X of block 3 - p, and its first product to X0, too. The blocks of C itself
// are put together when everything has been added to X: an alternative basis, after E. Karstadt and
// O. Schwartz, "Matrix multiplication, a little faster", 2017.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Factors of the blocks of B, at row * 2 + column, in each of the seven products.
inline constexpr std::int8_t kStrassenB[7][4] = {{0, 0, 1, 1},  {1, 1, 0, 0}, {1, 0, 0, 0},
                                                 {-1, 0, 1, 0}, {0, 0, 0, 1}, {0, 1, 0, -1},
                                                 {1, 0, 0, 1}};

/// The sum of blocks of A in a product: `first` + `sign` * `second`; `sign` 0 means `first` alone.
struct StrassenPair {
  int first;
  int second;
  float sign;
};
inline constexpr StrassenPair kStrassenA[7] = {{3, 1, -1}, {2, 0, -1}, {2, 3, 1}, {3, 3, 0},
                                               {0, 1, 1},  {0, 0, 0},  {0, 3, 1}};

/// All seven sums of kStrassenA.
SLUICE_CPU_INLINE void sum_blocks_of_a(const Vec (&block)[4], Vec (&sums)[7]) {
  sums[0] = block[3] - block[1];
  sums[1] = block[2] - block[0];
  sums[2] = block[2] + block[3];
  sums[3] = block[3];
  sums[4] = block[0] + block[1];
  sums[5] = block[0];
  sums[6] = block[0] + block[3];
}

/// Blocks of C from X, both at row * 2 + column.
SLUICE_CPU_INLINE void finish_blocks_of_c(Vec& x0, Vec x1, Vec x2, Vec& x3) {
  x3 = x0 + x1 + x3;
  x0 = x0 + x2;
}

/// Blocks of B in a product, in rows and columns of blocks.
struct StrassenTerm {
  std::int8_t row;
  std::int8_t column;
  std::int8_t sign;
};

struct StrassenSum {
  int count = 0;
  StrassenTerm terms[4] = {};
};

/// The sum of blocks of B in product `r` of `levels` levels, r = 7 * outer + inner.
constexpr StrassenSum strassen_sum_of_b(int levels, int r) {
  StrassenSum sum;
  const int blocks = 1 << levels;
  for (int row = 0; row < blocks; ++row) {
    for (int column = 0; column < blocks; ++column) {
      const int inner = kStrassenB[r % 7][row % 2 * 2 + column % 2];
      const int outer = levels == 1 ? 1 : kStrassenB[r / 7][row / 2 * 2 + column / 2];
      if (inner * outer == 0) continue;
      sum.terms[sum.count++] = {static_cast<std::int8_t>(row), static_cast<std::int8_t>(column),
                                static_cast<std::int8_t>(inner * outer)};
    }
  }
  return sum;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
