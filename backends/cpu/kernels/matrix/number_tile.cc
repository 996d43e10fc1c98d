#include "kernels/matrix/number_tile.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

template <typename T>
struct VectorOf {
  using Type [[gnu::vector_size(SLUICE_CPU_VECTOR_BYTES)]] = T;
};
template <typename T>
using Numbers = typename VectorOf<T>::Type;

/// A vector of sums. The sizes take most of the registers, of which there are 16 or more: for kRows
/// x kVectors sums, one row of B and a number of A.
template <typename T>
struct Sum {
  static constexpr int kRows = 6;
  static constexpr int kVectors = 2;
  using Factors = Numbers<T>;

  Numbers<T> total;

  __attribute__((always_inline)) static Factors factors(Numbers<T> right) { return right; }
  __attribute__((always_inline)) void add(T left, const Factors& right) {
    total += (left - Numbers<T>{}) * right;
  }
  __attribute__((always_inline)) Numbers<T> value() const { return total; }
};

#if defined(__AVX2__) && !defined(__AVX512F__)

/// There is no instruction for products of 64 bits. With halves a = a1 2^32 + a0, modulo 2^64,
///
///     a b = a0 b0 + (a0 b1 + a1 b0) 2^32
///
/// whose second sum is kept in its two terms, each modulo 2^32.
template <>
struct Sum<std::uint64_t> {
  static constexpr int kRows = 4;
  static constexpr int kVectors = 1;
  struct Factors {
    __m256i whole, swapped;  ///< b1 b0 and b0 b1
  };

  __m256i low, cross;

  __attribute__((always_inline)) static Factors factors(Numbers<std::uint64_t> right) {
    return {(__m256i)right, _mm256_shuffle_epi32((__m256i)right, 0xb1)};
  }
  __attribute__((always_inline)) void add(std::uint64_t left, const Factors& right) {
    const __m256i a = _mm256_set1_epi64x(static_cast<std::int64_t>(left));
    low = _mm256_add_epi64(low, _mm256_mul_epu32(a, right.whole));
    cross = _mm256_add_epi32(cross, _mm256_mullo_epi32(a, right.swapped));
  }
  __attribute__((always_inline)) Numbers<std::uint64_t> value() const {
    const __m256i both = _mm256_add_epi32(cross, _mm256_srli_epi64(cross, 32));
    return (Numbers<std::uint64_t>)_mm256_add_epi64(low, _mm256_slli_epi64(both, 32));
  }
};

#endif

template <typename T>
inline constexpr int kLanesOfNumbers = SLUICE_CPU_VECTOR_BYTES / static_cast<int>(sizeof(T));

template <typename T, int kRows, int kVectors>
void multiply(const NumberTile<T>& t, std::int64_t row, std::int64_t column) {
  constexpr int kLanesOf = kLanesOfNumbers<T>;
  constexpr int kColumns = kVectors * kLanesOf;
  Sum<T> sums[kRows][kVectors] = {};
  const T* a = t.a + row * t.a_row;
  const T* b = t.b + column;
  for (std::int64_t p = 0; p < t.k; ++p) {
    typename Sum<T>::Factors right[kVectors];
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      Numbers<T> numbers;
      __builtin_memcpy(&numbers, b + p * kNumberPanel<T> + v * kLanesOf, sizeof numbers);
      right[v] = Sum<T>::factors(numbers);
    }
    SLUICE_CPU_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const T left = a[r * t.a_row + p * t.a_step];
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[r][v].add(left, right[v]);
    }
  }
  const std::int64_t left = t.columns - column;
  const int columns = static_cast<int>(left < kColumns ? left : kColumns);
  // Unrolled: a register has no address that a loop could count up.
  SLUICE_CPU_UNROLL
  for (int r = 0; r < kRows; ++r) {
    T* whole = t.c + (row + r) * t.c_row + column;
    if (columns == kColumns) {
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        Numbers<T> sum = sums[r][v].value();
        Numbers<T> before;
        __builtin_memcpy(&before, whole + v * kLanesOf, sizeof before);
        if (t.adds) sum += before;
        __builtin_memcpy(whole + v * kLanesOf, &sum, sizeof sum);
      }
      continue;
    }
    T values[kColumns];
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const Numbers<T> sum = sums[r][v].value();
      __builtin_memcpy(values + v * kLanesOf, &sum, sizeof sum);
    }
    for (int j = 0; j < columns; ++j) whole[j] = t.adds ? whole[j] + values[j] : values[j];
  }
}

template <typename T, int kVectors>
void multiply_columns(const NumberTile<T>& tile, std::int64_t column) {
  constexpr int kRows = Sum<T>::kRows;
  std::int64_t row = 0;
  for (; row + kRows <= tile.rows; row += kRows) multiply<T, kRows, kVectors>(tile, row, column);
  for (; row + 2 <= tile.rows; row += 2) multiply<T, 2, kVectors>(tile, row, column);
  if (row < tile.rows) multiply<T, 1, kVectors>(tile, row, column);
}

}  // namespace

template <typename T>
void multiply_numbers(const NumberTile<T>& tile) {
  constexpr int kVectors = Sum<T>::kVectors;
  constexpr int kColumns = kVectors * kLanesOfNumbers<T>;
  for (std::int64_t column = 0; column < tile.columns; column += kColumns) {
    // Columns that one vector holds take one.
    if (kVectors > 1 && tile.columns - column <= kLanesOfNumbers<T>) {
      multiply_columns<T, 1>(tile, column);
    } else {
      multiply_columns<T, kVectors>(tile, column);
    }
  }
}

template void multiply_numbers(const NumberTile<double>&);
template void multiply_numbers(const NumberTile<std::uint32_t>&);
template void multiply_numbers(const NumberTile<std::uint64_t>&);

void scale_doubles(const NumberTile<double>& tile, const DoubleScaling& scaling) {
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
