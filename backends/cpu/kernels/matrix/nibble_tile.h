#pragma once

// Matrices of 4 bits: their numbers in registers as floats. Included by kernel sources only.

#include "core/simd.h"
#include "kernels/matrix/gemm.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Neighbours along K that one load expands to: two vectors.
inline constexpr int kNibbleUnit = 2 * kLanes;

/// kNibbleUnit neighbours less their zero point: those with even and those with odd indices.
struct NibblePair {
  Vec even;
  Vec odd;
};

/// Numbers with a sign are those without, 8 less, and with the upper bit of four flipped.
inline constexpr int kSignedZero = 8;

#if defined(__AVX512F__)

/// The 16 floats from `15 - zero` on are q - zero for q = 0..15.
alignas(64) inline constexpr float kNibbleSteps[] = {
    -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0,
    1,   2,   3,   4,   5,   6,   7,  8,  9,  10, 11, 12, 13, 14, 15};
alignas(64) inline constexpr float kSignedNibbles[] = {0,  1,  2,  3,  4,  5,  6,  7,
                                                       -8, -7, -6, -5, -4, -3, -2, -1};

template <bool kHasZeros>
SLUICE_CPU_INLINE NibblePair expand_nibbles(const std::uint8_t* p, int zero) {
  const Vec table = load(kHasZeros ? kNibbleSteps + 15 - zero : kSignedNibbles);
  const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm512_permutexvar_ps(bytes, table),
          _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), table)};
}

#elif defined(__AVX2__)

template <bool kHasZeros>
SLUICE_CPU_INLINE NibblePair expand_nibbles(const std::uint8_t* p, int zero) {
  __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  if (!kHasZeros) bytes = _mm256_xor_si256(bytes, _mm256_set1_epi32(0x88));
  const Vec from = broadcast(static_cast<float>(kHasZeros ? zero : kSignedZero));
  const __m256i even = _mm256_and_si256(bytes, _mm256_set1_epi32(15));
  return {_mm256_cvtepi32_ps(even) - from, _mm256_cvtepi32_ps(_mm256_srli_epi32(bytes, 4)) - from};
}

#else

template <bool kHasZeros>
SLUICE_CPU_INLINE NibblePair expand_nibbles(const std::uint8_t* p, int zero) {
  NibblePair pair;
  for (int i = 0; i < kLanes; ++i) {
    const int bits = kHasZeros ? p[i] : p[i] ^ 0x88;
    const int from = kHasZeros ? zero : kSignedZero;
    pair.even[i] = static_cast<float>((bits & 15) - from);
    pair.odd[i] = static_cast<float>((bits >> 4) - from);
  }
  return pair;
}

#endif

SLUICE_CPU_INLINE int nibble_at(const std::uint8_t* nibbles, std::uint64_t index) {
  return nibbles[index / 2] >> (index % 2 * 4) & 15;
}

/// Stores the kNibbleUnit numbers of a pair in their order.
SLUICE_CPU_INLINE void store_in_order(const NibblePair& pair, float* to) {
#if defined(__AVX512F__)
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  store(to, _mm512_permutex2var_ps(pair.even, low, pair.odd));
  store(to + kLanes, _mm512_permutex2var_ps(pair.even, high, pair.odd));
#elif defined(__AVX2__)
  const __m256 low = _mm256_unpacklo_ps(pair.even, pair.odd);
  const __m256 high = _mm256_unpackhi_ps(pair.even, pair.odd);
  store(to, _mm256_permute2f128_ps(low, high, 0x20));
  store(to + kLanes, _mm256_permute2f128_ps(low, high, 0x31));
#else
  for (int i = 0; i < kLanes; ++i) {
    to[2 * i] = pair.even[i];
    to[2 * i + 1] = pair.odd[i];
  }
#endif
}

/// The numbers of column `column` from row `begin` on, as floats in their order.
template <bool kHasZeros>
SLUICE_CPU_INLINE void widen_nibbles(const NibbleMatrix& b, std::int64_t column, std::int64_t begin,
                                     std::int64_t count, float* to) {
  const std::uint8_t* from = b.nibbles + (column * b.k + begin) / 2;
  const std::int64_t first_block = column * (b.k / b.block);
  for (std::int64_t p = 0; p < count; p += kNibbleUnit, from += kLanes, to += kNibbleUnit) {
    const std::int64_t at = first_block + (begin + p) / b.block;
    const Vec scale = broadcast(b.scales[at]);
    const int zero = kHasZeros ? nibble_at(b.zeros, static_cast<std::uint64_t>(at)) : 0;
    const NibblePair pair = expand_nibbles<kHasZeros>(from, zero);
    store_in_order({pair.even * scale, pair.odd * scale}, to);
  }
}

/// A row of A in the order of expand_nibbles: for each unit the even ones, then the odd ones.
SLUICE_CPU_INLINE void split_row(const float* a, std::int64_t k, float* to) {
  for (std::int64_t p = 0; p < k; p += kNibbleUnit) {
    for (int i = 0; i < kLanes; ++i) {
      to[p + i] = a[p + 2 * i];
      to[p + kLanes + i] = a[p + 2 * i + 1];
    }
  }
}

/// log2 of the units in a block.
SLUICE_CPU_INLINE int block_shift(const NibbleMatrix& b) {
  return __builtin_ctzll(static_cast<std::uint64_t>(b.block / kNibbleUnit));
}

/// kRows x kColumns products of whole rows that split_row has made, `row` floats apart, with
/// neighbouring columns from `column` on. B's numbers are there in registers alone.
template <int kRows, int kColumns, bool kHasZeros>
void nibble_tile(const NibbleMatrix& b, std::int64_t column, const float* rows, std::int64_t row,
                 float* c, std::int64_t c_row) {
  const std::int64_t units = b.k / kNibbleUnit;
  const std::int64_t blocks = b.k / b.block;
  const int shift = block_shift(b);
  const std::uint8_t* nibbles = b.nibbles + column * b.k / 2;
  const float* scales = b.scales + column * blocks;
  Vec even[kRows][kColumns] = {};
  Vec odd[kRows][kColumns] = {};
  for (std::int64_t u = 0; u < units; ++u, nibbles += kLanes, rows += kNibbleUnit) {
    const std::int64_t block = u >> shift;
    SLUICE_CPU_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      const std::int64_t at = (column + j) * blocks + block;
      const int zero = kHasZeros ? nibble_at(b.zeros, static_cast<std::uint64_t>(at)) : 0;
      const NibblePair pair = expand_nibbles<kHasZeros>(nibbles + j * b.k / 2, zero);
      const Vec scale = broadcast(scales[j * blocks + block]);
      const Vec scaled_even = pair.even * scale;
      const Vec scaled_odd = pair.odd * scale;
      SLUICE_CPU_UNROLL
      for (int i = 0; i < kRows; ++i) {
        even[i][j] = fmadd(load(rows + i * row), scaled_even, even[i][j]);
        odd[i][j] = fmadd(load(rows + i * row + kLanes), scaled_odd, odd[i][j]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) c[i * c_row + j] = reduce_add(even[i][j] + odd[i][j]);
  }
}

/// All columns in [begin, end) of up to four rows at once.
template <int kRows, bool kHasZeros>
void nibble_columns(const NibbleMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
                    std::int64_t row, float* c, std::int64_t c_row) {
  constexpr int kMost = kVectorRegisters == 32 ? 8 : 4;  // sums, in two halves each
  constexpr int kColumns = kRows == 1 ? 4 : kMost / kRows > 1 ? 2 : 1;
  std::int64_t j = begin;
  for (; j + kColumns <= end; j += kColumns) {
    nibble_tile<kRows, kColumns, kHasZeros>(b, j, rows, row, c + j, c_row);
  }
  for (; j < end; ++j) nibble_tile<kRows, 1, kHasZeros>(b, j, rows, row, c + j, c_row);
}

/// `count` rows, their results in `c`.
template <bool kHasZeros>
SLUICE_CPU_INLINE void multiply_nibbles(const NibbleMatrix& b, std::int64_t begin, std::int64_t end,
                                        const float* rows, std::int64_t row, std::int64_t count,
                                        float* c, std::int64_t c_row) {
  for (std::int64_t i = 0; i < count; i += 4) {
    const float* some = rows + i * row;
    float* to = c + i * c_row;
    switch (count - i) {
      case 1: nibble_columns<1, kHasZeros>(b, begin, end, some, row, to, c_row); break;
      case 2: nibble_columns<2, kHasZeros>(b, begin, end, some, row, to, c_row); break;
      case 3: nibble_columns<3, kHasZeros>(b, begin, end, some, row, to, c_row); break;
      default: nibble_columns<4, kHasZeros>(b, begin, end, some, row, to, c_row); break;
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
