#pragma once

// Numbers of 4 and 8 bits as floats in registers. Included by kernel sources only.

#include "core/simd.h"
#include "kernels/bytes/byte_vectors.h"
#include "kernels/matrix/block_matrix.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Neighbours along K that one step expands: two vectors.
inline constexpr int kBlockUnit = 2 * kLanes;

/// kBlockUnit neighbours less their zero point. Those of 4 bits are apart: even indices, then odd.
struct BlockPair {
  Vec first;
  Vec second;
};

SLUICE_CPU_INLINE int nibble_at(const std::uint8_t* nibbles, std::int64_t index) {
  return nibbles[index / 2] >> (index % 2 * 4) & 15;
}

/// The zero point of block `at` of those that have their own.
template <int kBits>
SLUICE_CPU_INLINE float zero_at(const BlockMatrix& b, std::int64_t at) {
  if (b.float_zeros != nullptr) return b.float_zeros[at];
  return static_cast<float>(kBits == 8 ? b.zeros[at] : nibble_at(b.zeros, at));
}

/// Expands the numbers of one block, whose zero point is `zero`. Numbers with a sign are those
/// without, with the upper bit flipped, less half of their range.
template <int kBits>
class BlockNumbers;

template <>
class BlockNumbers<8> {
 public:
  SLUICE_CPU_INLINE BlockNumbers of(bool has_sign, float zero) {
    BlockNumbers numbers;
    numbers.flip_ = broadcast_int(has_sign ? 0x80 : 0);
    numbers.from_ = broadcast(has_sign ? zero + 128 : zero);
    return numbers;
  }

  SLUICE_CPU_INLINE BlockPair expand(const BlockNumbers& n, const std::uint8_t* p) {
    return {to_float(n, p), to_float(n, p + kLanes)};
  }

 private:
  SLUICE_CPU_INLINE Vec to_float(const BlockNumbers& n, const std::uint8_t* p) {
    return __builtin_convertvector(widen_bytes(p) ^ n.flip_, Vec) - n.from_;
  }

  VecI flip_;
  Vec from_;
};

#if defined(__AVX512F__)

alignas(64) inline constexpr float kNibbles[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                 8, 9, 10, 11, 12, 13, 14, 15};
alignas(64) inline constexpr float kSignedNibbles[] = {0,  1,  2,  3,  4,  5,  6,  7,
                                                       -8, -7, -6, -5, -4, -3, -2, -1};

template <>
class BlockNumbers<4> {
 public:
  SLUICE_CPU_INLINE BlockNumbers of(bool has_sign, float zero) {
    BlockNumbers numbers;
    numbers.table_ = load(has_sign ? kSignedNibbles : kNibbles) - broadcast(zero);
    return numbers;
  }

  SLUICE_CPU_INLINE BlockPair expand(const BlockNumbers& n, const std::uint8_t* p) {
    const __m512i bytes = (__m512i)widen_bytes(p);
    return {_mm512_permutexvar_ps(bytes, n.table_),
            _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), n.table_)};
  }

 private:
  Vec table_;
};

#else

template <>
class BlockNumbers<4> {
 public:
  SLUICE_CPU_INLINE BlockNumbers of(bool has_sign, float zero) {
    BlockNumbers numbers;
    numbers.flip_ = broadcast_int(has_sign ? 0x88 : 0);
    numbers.from_ = broadcast(has_sign ? zero + 8 : zero);
    return numbers;
  }

  SLUICE_CPU_INLINE BlockPair expand(const BlockNumbers& n, const std::uint8_t* p) {
    const VecI bytes = widen_bytes(p) ^ n.flip_;
    return {__builtin_convertvector(bytes & broadcast_int(15), Vec) - n.from_,
            __builtin_convertvector(bytes >> 4, Vec) - n.from_};
  }

 private:
  VecI flip_;
  Vec from_;
};

#endif

/// Stores the numbers of a pair in their order.
template <int kBits>
SLUICE_CPU_INLINE void store_in_order(const BlockPair& pair, float* to) {
  if constexpr (kBits == 8) {
    store(to, pair.first);
    store(to + kLanes, pair.second);
    return;
  }
#if defined(__AVX512F__)
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  store(to, _mm512_permutex2var_ps(pair.first, low, pair.second));
  store(to + kLanes, _mm512_permutex2var_ps(pair.first, high, pair.second));
#elif defined(__AVX2__)
  const __m256 low = _mm256_unpacklo_ps(pair.first, pair.second);
  const __m256 high = _mm256_unpackhi_ps(pair.first, pair.second);
  store(to, _mm256_permute2f128_ps(low, high, 0x20));
  store(to + kLanes, _mm256_permute2f128_ps(low, high, 0x31));
#else
  for (int i = 0; i < kLanes; ++i) {
    to[2 * i] = pair.first[i];
    to[2 * i + 1] = pair.second[i];
  }
#endif
}

/// Calls Multiply::run<rows>(multiply, rows done before) for up to four of `count` rows at once.
template <typename Multiply>
SLUICE_CPU_INLINE void for_rows(std::int64_t count, const Multiply& multiply) {
  for (std::int64_t i = 0; i < count; i += 4) {
    switch (count - i) {
      case 1: Multiply::template run<1>(multiply, i); break;
      case 2: Multiply::template run<2>(multiply, i); break;
      case 3: Multiply::template run<3>(multiply, i); break;
      default: Multiply::template run<4>(multiply, i); break;
    }
  }
}

/// The columns of a tile: `first`, and others `step` apart. Each is a stream of B, and a processor
/// fetches streams ahead only if they lie in pages of their own (decision 0070).
struct TileColumns {
  std::int64_t first, step;
};

/// How far ahead a tile of several rows fetches each column into the second-level cache. One row
/// takes so few instructions that the processor runs ahead by itself.
inline constexpr std::int64_t kBlockAheadBytes = 2048;

/// Calls Multiply::run_tile<kRows, columns>(multiply, `first`, TileColumns) for all columns of
/// `multiply`, kColumns at once as far as there are so many.
template <int kRows, int kColumns, typename Multiply>
SLUICE_CPU_INLINE void run_tiles(const Multiply& m, std::int64_t first) {
  const std::int64_t step = (m.end - m.begin) / kColumns;
  for (std::int64_t j = m.begin; j < m.begin + step; ++j) {
    Multiply::template run_tile<kRows, kColumns>(m, first, {j, step});
  }
  for (std::int64_t j = m.begin + kColumns * step; j < m.end; ++j) {
    Multiply::template run_tile<kRows, 1>(m, first, {j, 1});
  }
}

/// Columns of a tile of so many rows.
template <int kRows>
inline constexpr int kBlockColumns = kRows == 1               ? 4
                                     : kVectorRegisters == 32 ? (kRows == 2   ? 4
                                                                 : kRows == 3 ? 2
                                                                              : 1)
                                     : kRows == 2             ? 2
                                                              : 1;

}  // namespace sluice::cpu::SLUICE_CPU_ISA
