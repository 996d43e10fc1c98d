#pragma once

// Which blocks Strassen's products are sums of, and which blocks of C they go to. Included by
// kernel sources only.

#include "simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// One level: the factor of block (row, column), at row * 2 + column, in each of seven products.
using StrassenFactors = std::int8_t[7][4];

inline constexpr StrassenFactors kStrassenB = {{1, 0, 0, 1},  {1, 0, 0, 0}, {0, 1, 0, -1},
                                               {-1, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 0, 0},
                                               {0, 0, 1, 1}};
inline constexpr StrassenFactors kStrassenC = {{1, 0, 0, 1}, {0, 0, 1, -1}, {0, 1, 0, 1},
                                               {1, 0, 1, 0}, {-1, 1, 0, 0}, {0, 0, 0, 1},
                                               {1, 0, 0, 0}};

/// The sums of blocks of A that kStrassenB and kStrassenC belong to: `first`, and `second` times
/// `sign` where that is not 0.
struct StrassenPair {
  int first;
  int second;
  float sign;
};
inline constexpr StrassenPair kStrassenA[7] = {{0, 3, 1}, {2, 3, 1},  {0, 0, 0}, {3, 3, 0},
                                               {0, 1, 1}, {2, 0, -1}, {1, 3, -1}};

/// All seven of them.
SLUICE_CPU_INLINE void sum_blocks_of_a(const Vec (&block)[4], Vec (&sums)[7]) {
  sums[0] = block[0] + block[3];
  sums[1] = block[2] + block[3];
  sums[2] = block[0];
  sums[3] = block[3];
  sums[4] = block[0] + block[1];
  sums[5] = block[2] - block[0];
  sums[6] = block[1] - block[3];
}

inline constexpr int kStrassenMaxTerms = 4;

/// A block in a sum, in rows and columns of blocks.
struct StrassenTerm {
  std::int8_t row;
  std::int8_t column;
  std::int8_t sign;
  bool is_first;  ///< of the products that go to this block of C
};

struct StrassenSum {
  int count = 0;
  StrassenTerm terms[kStrassenMaxTerms] = {};
};

/// All products of `kLevels` levels: 7 times the outer level's number, plus the inner one's.
template <int kLevels>
struct StrassenTable {
  static constexpr int kBlocks = 1 << kLevels;  ///< of rows, and of columns
  static constexpr int kProducts = kLevels == 1 ? 7 : 49;
  StrassenSum b[kProducts] = {};
  StrassenSum c[kProducts] = {};

  constexpr StrassenTable() {
    bool is_begun[kBlocks][kBlocks] = {};
    for (int r = 0; r < kProducts; ++r) {
      b[r] = sum_of(kStrassenB, r);
      c[r] = sum_of(kStrassenC, r);
      for (int t = 0; t < c[r].count; ++t) {
        bool& begun = is_begun[c[r].terms[t].row][c[r].terms[t].column];
        c[r].terms[t].is_first = !begun;
        begun = true;
      }
    }
  }

 private:
  static constexpr StrassenSum sum_of(const StrassenFactors& factors, int r) {
    StrassenSum sum;
    for (int row = 0; row < kBlocks; ++row) {
      for (int column = 0; column < kBlocks; ++column) {
        const int inner = factors[r % 7][row % 2 * 2 + column % 2];
        const int outer = kLevels == 1 ? 1 : factors[r / 7][row / 2 * 2 + column / 2];
        if (inner * outer == 0) continue;
        sum.terms[sum.count++] = {static_cast<std::int8_t>(row), static_cast<std::int8_t>(column),
                                  static_cast<std::int8_t>(inner * outer), false};
      }
    }
    return sum;
  }
};

template <int kLevels>
inline constexpr StrassenTable<kLevels> kStrassenTable{};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
