#include "kernels/matrix/double_tile.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

using Doubles = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
constexpr int kLanesOfDoubles = kLanes / 2;

/// kRows x 2 vectors of sums stay in registers, of which there are 16 or more.
constexpr int kRowsAtOnce = 6;
constexpr int kVectors = 2;
constexpr int kColumnsAtOnce = kVectors * kLanesOfDoubles;

template <int kRows>
void multiply(const DoubleTile& t, std::int64_t row, std::int64_t column) {
  Doubles sums[kRows][kVectors] = {};
  const double* a = t.a + row * t.a_row;
  const double* b = t.b + column;
  for (std::int64_t p = 0; p < t.k; ++p) {
    Doubles right[kVectors];
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      __builtin_memcpy(&right[v], b + p * kDoublePanel + v * kLanesOfDoubles, sizeof right[v]);
    }
    SLUICE_CPU_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Doubles left = a[r * t.a_row + p * t.a_step] - Doubles{};
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[r][v] += left * right[v];
    }
  }
  const std::int64_t left = t.columns - column;
  const int columns = static_cast<int>(left < kColumnsAtOnce ? left : kColumnsAtOnce);
  // Unrolled: a register has no address that a loop could count up.
  SLUICE_CPU_UNROLL
  for (int r = 0; r < kRows; ++r) {
    double* whole = t.c + (row + r) * t.c_row + column;
    if (columns == kColumnsAtOnce) {
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        Doubles sum = sums[r][v];
        Doubles before;
        __builtin_memcpy(&before, whole + v * kLanesOfDoubles, sizeof before);
        if (t.adds) sum += before;
        __builtin_memcpy(whole + v * kLanesOfDoubles, &sum, sizeof sum);
      }
      continue;
    }
    double values[kColumnsAtOnce];
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      __builtin_memcpy(values + v * kLanesOfDoubles, &sums[r][v], sizeof sums[r][v]);
    }
    for (int j = 0; j < columns; ++j) whole[j] = t.adds ? whole[j] + values[j] : values[j];
  }
}

}  // namespace

void multiply_doubles(const DoubleTile& tile) {
  for (std::int64_t column = 0; column < tile.columns; column += kColumnsAtOnce) {
    std::int64_t row = 0;
    for (; row + kRowsAtOnce <= tile.rows; row += kRowsAtOnce) {
      multiply<kRowsAtOnce>(tile, row, column);
    }
    for (; row + 2 <= tile.rows; row += 2) multiply<2>(tile, row, column);
    if (row < tile.rows) multiply<1>(tile, row, column);
  }
}

void scale_doubles(const DoubleTile& tile, const DoubleScaling& scaling) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    double* y = tile.c + row * tile.c_row;
    if (scaling.alpha != 1) {
      for (std::int64_t j = 0; j < tile.columns; ++j) y[j] *= scaling.alpha;
    }
    if (scaling.c == nullptr) continue;
    const double* c = scaling.c + row * scaling.c_row;
    if (scaling.c_step == 0) {
      const double same = scaling.beta * *c;
      for (std::int64_t j = 0; j < tile.columns; ++j) y[j] += same;
    } else {
      for (std::int64_t j = 0; j < tile.columns; ++j) y[j] += scaling.beta * c[j];
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
