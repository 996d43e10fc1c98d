// Products of a few rows with matrices of 4 and 8 bits, the rows rounded to 8 bits block by block:
//
//     C(i, j) = sum over blocks of a_scale(i) * scale(j) * (sum of a * number - zero * sum of a)
//
// A prepared row is, for each step of one vector of B's bytes: the bytes of A that meet them, and
// what is added to the lanes of the sum for the zero point that all blocks share. The scales of A's
// blocks follow, and their sums for zero points of their own.
#include "kernels/bytes/four_bytes.h"
#include "kernels/matrix/block_panels.h"
#include "kernels/matrix/block_rounding.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Places along K that one vector of B's bytes covers.
template <int kBits>
inline constexpr int kSpan = kVectorBytes * 8 / kBits;

/// Places whose bytes meet in one lane.
template <int kBits>
inline constexpr int kLanePlaces = 32 / kBits;

/// Where the parts of a prepared row lie.
template <int kBits>
struct RoundedRow {
  RoundedRow(const BlockMatrix& b, float* row)
      : steps((b.k + kSpan<kBits> - 1) / kSpan<kBits>),
        bytes(reinterpret_cast<std::int8_t*>(row)),
        corrections(reinterpret_cast<std::int32_t*>(row + steps * kSpan<kBits> / 4)),
        scales(row + steps * (kSpan<kBits> / 4 + kLanes)),
        sums(scales + (b.k / b.block + kLanes - 1) / kLanes * kLanes) {}

  std::int64_t steps;
  std::int8_t* bytes;         ///< [steps][kSpan]; of 4 bits even places, then odd ones
  std::int32_t* corrections;  ///< [steps][kLanes]; of all steps of a block in the first
  float* scales;              ///< [blocks], and zeros up to a multiple of kLanes
  float* sums;                ///< [blocks]
};

// ---- preparation --------------------------------------------------------------------------------

/// The bytes of one step in the order in which B's meet them, and the sums of those of each lane.
template <int kBits>
SLUICE_CPU_INLINE void arrange(const std::int8_t* from, std::int8_t* to, std::int32_t* lane_sums) {
  if constexpr (kBits == 8) {
    std::memcpy(to, from, kVectorBytes);
  } else {
    for (int i = 0; i < kVectorBytes; ++i) {
      to[i] = from[2 * i];
      to[kVectorBytes + i] = from[2 * i + 1];
    }
  }
  constexpr int kPerLane = 32 / kBits;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::int32_t sum = 0;
    for (int i = 0; i < kPerLane; ++i) sum += from[lane * kPerLane + i];
    lane_sums[lane] = sum;
  }
}

template <int kBits>
SLUICE_CPU_INLINE void prepare_row(const BlockMatrix& b, const float* a, std::int64_t k,
                                   float* to) {
  const RoundedRow<kBits> row(b, to);
  const std::int64_t blocks = b.k / b.block;
  auto* bytes = reinterpret_cast<std::int8_t*>(row.sums + blocks);
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t left = k - i * b.block;
    const std::int64_t given = left < b.block ? left : b.block;
    const RoundedBlock rounded = round_block(a + i * b.block, given, b.block, bytes + i * b.block);
    row.scales[i] = rounded.step;
    row.sums[i] = rounded.step * static_cast<float>(rounded.sum);
  }
  for (float* end = row.scales + blocks; end < row.sums; ++end) *end = 0;
  std::memset(bytes + b.k, 0, static_cast<std::size_t>(row.steps * kSpan<kBits> - b.k));
  const int zero = (b.has_zeros() ? 0 : b.zero) + offset_of<kBits>(b);
  std::int32_t* corrections = row.corrections;
  for (std::int64_t step = 0; step < row.steps; ++step) {
    const std::int64_t begin = step * kSpan<kBits>;
    std::int32_t lane_sums[kLanes];
    arrange<kBits>(bytes + begin, row.bytes + begin, lane_sums);
    const bool is_first = b.block <= kSpan<kBits> || begin % b.block == 0;
    if (is_first) corrections = row.corrections + step * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) {
      corrections[lane] = (is_first ? 0 : corrections[lane]) - zero * lane_sums[lane];
    }
  }
}

void prepare(const BlockMatrix& b, const float* a, std::int64_t k, float* to) {
  b.bits == 8 ? prepare_row<8>(b, a, k, to) : prepare_row<4>(b, a, k, to);
}

// ---- products -----------------------------------------------------------------------------------

#if defined(__AVX2__) && !defined(__AVX512F__)

SLUICE_CPU_INLINE VecI add_pairs(VecI sum, __m256i products) {
  return sum + (VecI)_mm256_madd_epi16(products, _mm256_set1_epi16(1));
}

#endif

/// One vector of B's bytes, its numbers in the form that is multiplied.
template <int kBits>
struct ByteNumbers;

template <>
struct ByteNumbers<8> {
  SLUICE_CPU_INLINE ByteNumbers of(VecI bytes) { return {bytes}; }
  SLUICE_CPU_INLINE VecI add_products(VecI sum, const ByteNumbers& n, const std::int8_t* a) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    const __m256i magnitudes = _mm256_abs_epi8((__m256i)n.bytes);
    const __m256i turned = _mm256_sign_epi8((__m256i)load_int(a), (__m256i)n.bytes);
    return add_pairs(sum, _mm256_maddubs_epi16(magnitudes, turned));
#else
    return multiply_add(sum, unsigned_bytes(n.bytes), signed_bytes(load_int(a)));
#endif
  }
  VecI bytes;
};

template <>
struct ByteNumbers<4> {
  SLUICE_CPU_INLINE ByteNumbers of(VecI bytes) {
    const VecI mask = broadcast_int(0x0f0f0f0f);
    return {bytes & mask, (bytes >> 4) & mask};
  }
  SLUICE_CPU_INLINE VecI add_products(VecI sum, const ByteNumbers& n, const std::int8_t* a) {
    const VecI even = load_int(a), odd = load_int(a + kVectorBytes);
#if defined(__AVX2__) && !defined(__AVX512F__)
    return add_pairs(sum, _mm256_add_epi16(_mm256_maddubs_epi16((__m256i)n.even, (__m256i)even),
                                           _mm256_maddubs_epi16((__m256i)n.odd, (__m256i)odd)));
#else
    sum = multiply_add(sum, unsigned_bytes(n.even), signed_bytes(even));
    return multiply_add(sum, unsigned_bytes(n.odd), signed_bytes(odd));
#endif
  }
  VecI even, odd;
};

/// Lane i of the result is lane places[i] of `v`.
SLUICE_CPU_INLINE Vec permute(Vec v, VecI places) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_ps((__m512i)places, v);
#elif defined(__AVX2__)
  return _mm256_permutevar8x32_ps(v, (__m256i)places);
#else
  Vec result;
  for (int i = 0; i < kLanes; ++i) result[i] = v[places[i]];
  return result;
#endif
}

/// What the tiles of a matrix share.
template <int kBits>
struct TileSource {
  TileSource(const BlockMatrix& b, TileColumns columns, float* rows)
      : row(b, rows),
        numbers(b.numbers + columns.first * (b.k * kBits / 8)),
        b_step(columns.step * (b.k * kBits / 8)),
        blocks(b.k / b.block),
        scales(b.scales + columns.first * blocks),
        scales_step(columns.step * blocks),
        flip(broadcast_int(flip_of<kBits>(b))) {}
  RoundedRow<kBits> row;  ///< the first one
  const std::uint8_t* numbers;
  std::int64_t b_step;  ///< bytes from one column to the next
  std::int64_t blocks;
  const float* scales;
  std::int64_t scales_step;
  VecI flip;
};

template <int kRows, int kColumns>
SLUICE_CPU_INLINE void store_sums(const Vec (&sums)[kRows][kColumns], float* c, std::int64_t c_row,
                                  std::int64_t step) {
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    SLUICE_CPU_UNROLL
    for (int j = 0; j < kColumns; ++j) c[i * c_row + j * step] = reduce_add(sums[i][j]);
  }
}

/// kRows x kColumns products, where a block is one vector of B's bytes or several.
template <int kBits, int kRows, int kColumns>
void wide_byte_tile(const BlockMatrix& b, TileColumns columns, float* rows, std::int64_t row,
                    float* c, std::int64_t c_row) {
  const TileSource<kBits> from(b, columns, rows);
  const std::int64_t vectors = b.block / kSpan<kBits>;
  const std::int8_t* bytes = from.row.bytes;
  const std::uint8_t* numbers = from.numbers;
  Vec sums[kRows][kColumns] = {};
  for (std::int64_t block = 0; block < from.blocks; ++block) {
    const std::int64_t lanes = block * vectors * kLanes;
    VecI dots[kRows][kColumns];
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const VecI correction = load_int(from.row.corrections + i * row + lanes);
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) dots[i][j] = correction;
    }
    for (std::int64_t v = 0; v < vectors; ++v) {
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        const VecI raw = load_int(numbers + j * from.b_step) ^ from.flip;
        if (kRows > 1) prefetch_to_l2(numbers + j * from.b_step + kBlockAheadBytes);
        const auto n = ByteNumbers<kBits>::of(raw);
        SLUICE_CPU_UNROLL
        for (int i = 0; i < kRows; ++i) {
          dots[i][j] = ByteNumbers<kBits>::add_products(dots[i][j], n, bytes + i * row * 4);
        }
      }
      numbers += kVectorBytes;
      bytes += kSpan<kBits>;
    }
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Vec factor = broadcast(from.row.scales[i * row + block]);
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        const Vec scale = broadcast(from.scales[j * from.scales_step + block]) * factor;
        sums[i][j] = fmadd(__builtin_convertvector(dots[i][j], Vec), scale, sums[i][j]);
      }
    }
  }
  store_sums(sums, c, c_row, columns.step);
}

/// The scales of `count` blocks of B from block `first` on, times those of the rows of A.
template <int kBits, int kRows, int kColumns>
SLUICE_CPU_INLINE void multiply_scales(const TileSource<kBits>& from, std::int64_t row,
                                       std::int64_t first, int count,
                                       Vec (&scales)[kRows][kColumns]) {
  SLUICE_CPU_UNROLL
  for (int j = 0; j < kColumns; ++j) {
    const Vec some = load_first(from.scales + j * from.scales_step + first, count);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) scales[i][j] = load(from.row.scales + i * row + first) * some;
  }
}

/// As wide_byte_tile, where a vector covers several blocks. kLanes blocks are a group: a vector
/// holds their scales, and each step spreads those that it needs.
template <int kBits, int kRows, int kColumns>
void narrow_byte_tile(const BlockMatrix& b, TileColumns columns, float* rows, std::int64_t row,
                      float* c, std::int64_t c_row) {
  const TileSource<kBits> from(b, columns, rows);
  const auto blocks_of_step = static_cast<int>(kSpan<kBits> / b.block);
  VecI first_places;
  for (int lane = 0; lane < kLanes; ++lane) first_places[lane] = lane;
  first_places >>= __builtin_ctzll(static_cast<unsigned long long>(b.block / kLanePlaces<kBits>));
  const std::int8_t* bytes = from.row.bytes;
  const std::int32_t* corrections = from.row.corrections;
  const std::uint8_t* numbers = from.numbers;
  constexpr bool kFetchesAhead = kRows > 1 || kBits == 4;
  Vec sums[kRows][kColumns] = {};
  Vec scales[kRows][kColumns];
  VecI places = first_places;
  const auto add = [&](int j, VecI raw) __attribute__((always_inline)) {
    const auto n = ByteNumbers<kBits>::of(raw ^ from.flip);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const VecI dot =
          ByteNumbers<kBits>::add_products(load_int(corrections + i * row), n, bytes + i * row * 4);
      sums[i][j] =
          fmadd(__builtin_convertvector(dot, Vec), permute(scales[i][j], places), sums[i][j]);
    }
  };
  int rest = 0;  // blocks behind the last whole step
  for (std::int64_t group = 0; group < from.blocks; group += kLanes) {
    const std::int64_t left = from.blocks - group;
    const int blocks = left < kLanes ? static_cast<int>(left) : kLanes;
    multiply_scales(from, row, group, blocks, scales);
    places = first_places;
    int block = 0;
    for (; block + blocks_of_step <= blocks; block += blocks_of_step) {
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        if (kFetchesAhead) prefetch_to_l2(numbers + j * from.b_step + kBlockAheadBytes);
        add(j, load_int(numbers + j * from.b_step));
      }
      numbers += kVectorBytes;
      bytes += kSpan<kBits>;
      corrections += kLanes;
      places += blocks_of_step;
    }
    rest = blocks - block;
  }
  if (rest > 0) {  // behind the last row there is no memory to read
    const std::int64_t left_bytes = rest * b.block * kBits / 8;
    SLUICE_CPU_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      std::uint8_t last[kVectorBytes] = {};
      __builtin_memcpy(last, numbers + j * from.b_step, static_cast<std::size_t>(left_bytes));
      add(j, load_int(last));
    }
  }
  store_sums(sums, c, c_row, columns.step);
}

/// Subtracts, for zero points that blocks have of their own, what they add to a product.
template <int kBits>
void subtract_zeros(const BlockMatrix& b, std::int64_t column, float* rows, std::int64_t row,
                    std::int64_t count, float* c, std::int64_t c_row) {
  const std::int64_t blocks = b.k / b.block;
  const float* sums = RoundedRow<kBits>(b, rows).sums;
  float buffer[kZerosAtOnce + 1];
  for (std::int64_t begin = 0; begin < blocks; begin += kZerosAtOnce) {
    const std::int64_t some = blocks - begin < kZerosAtOnce ? blocks - begin : kZerosAtOnce;
    const std::int64_t at = column * blocks + begin;
    const float* zeros = read_zeros<kBits>(b, at, some, buffer);
    for (std::int64_t r = 0; r < count; ++r) {
      Vec sum = {};
      for (std::int64_t i = 0; i < some; i += kLanes) {
        const int width = some - i < kLanes ? static_cast<int>(some - i) : kLanes;
        const Vec scaled = load_first(zeros + i, width) * load_first(b.scales + at + i, width);
        sum = fmadd(scaled, load_first(sums + r * row + begin + i, width), sum);
      }
      c[r * c_row] -= reduce_add(sum);
    }
  }
}

/// Columns of a tile of so many rows. Where a vector covers several blocks and one instruction
/// multiplies bytes, more of them fit the registers.
#if defined(__AVX512VNNI__)
template <int kRows, bool kIsNarrow>
inline constexpr int kByteColumns = kIsNarrow ? 4 : kBlockColumns<kRows>;
#else
template <int kRows, bool kIsNarrow>
inline constexpr int kByteColumns = kBlockColumns<kRows>;
#endif

template <int kBits, bool kIsNarrow>
struct Multiply {
  template <int kRows, int kColumns>
  SLUICE_CPU_INLINE void run_tile(const Multiply& m, std::int64_t first, TileColumns columns) {
    constexpr auto kTile = kIsNarrow ? narrow_byte_tile<kBits, kRows, kColumns>
                                     : wide_byte_tile<kBits, kRows, kColumns>;
    float* rows = m.rows + first * m.row;
    float* c = m.c + first * m.c_row + columns.first;
    kTile(*m.b, columns, rows, m.row, c, m.c_row);
    if (!m.b->has_zeros()) return;
    for (std::int64_t i = 0; i < kColumns * columns.step; i += columns.step) {
      subtract_zeros<kBits>(*m.b, columns.first + i, rows, m.row, kRows, c + i, m.c_row);
    }
  }

  template <int kRows>
  SLUICE_CPU_INLINE void run(const Multiply& m, std::int64_t first) {
    run_tiles<kRows, kByteColumns<kRows, kIsNarrow>>(m, first);
  }

  const BlockMatrix* b;
  std::int64_t begin, end;
  float* rows;
  std::int64_t row;
  float* c;
  std::int64_t c_row;
};

template <int kBits>
void multiply_bits(const BlockMatrix& b, std::int64_t begin, std::int64_t end, float* rows,
                   std::int64_t row, std::int64_t count, float* c, std::int64_t c_row) {
  b.block < kSpan<kBits>
      ? for_rows(count, Multiply<kBits, true>{&b, begin, end, rows, row, c, c_row})
      : for_rows(count, Multiply<kBits, false>{&b, begin, end, rows, row, c, c_row});
}

void multiply(const BlockMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
              std::int64_t row, std::int64_t count, float* c, std::int64_t c_row) {
  auto* prepared = const_cast<float*>(rows);
  b.bits == 8 ? multiply_bits<8>(b, begin, end, prepared, row, count, c, c_row)
              : multiply_bits<4>(b, begin, end, prepared, row, count, c, c_row);
}

}  // namespace

extern const BlockKernels kBlocksInBytes;
const BlockKernels kBlocksInBytes = {prepare, multiply, nullptr, round_row, multiply_rounded};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
