// Products of a few rows with matrices of 4 and 8 bits in f32.
#include "kernels/matrix/block_numbers.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// kRows x kColumns products of whole rows, `row` floats apart. The sum over a block is scaled
/// once.
template <int kBits, bool kHasZeros, int kRows, int kColumns>
void block_tile(const BlockMatrix& b, TileColumns columns, const float* rows, std::int64_t row,
                float* c, std::int64_t c_row) {
  const std::int64_t blocks = b.k / b.block;
  const std::int64_t units = b.block / kBlockUnit;
  const std::int64_t b_row = b.k * kBits / 8;
  const std::int64_t b_step = columns.step * b_row;
  const std::int64_t scales_step = columns.step * blocks;
  const std::uint8_t* numbers = b.numbers + columns.first * b_row;
  const float* scales = b.scales + columns.first * blocks;
  Vec sums[kRows][kColumns] = {};
  BlockNumbers<kBits> expanders[kColumns];
  SLUICE_CPU_UNROLL
  for (int j = 0; j < kColumns; ++j) {
    expanders[j] = BlockNumbers<kBits>::of(b.has_sign, static_cast<float>(b.zero));
  }
  for (std::int64_t block = 0; block < blocks; ++block) {
    // Zero points of their own: each block expands its numbers around another one.
    if constexpr (kHasZeros) {
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        const float zero = zero_at<kBits>(b, columns.first * blocks + j * scales_step + block);
        expanders[j] = BlockNumbers<kBits>::of(b.has_sign, zero);
      }
    }
    Vec parts[kRows][kColumns];
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) parts[i][j] = Vec{};
    }
    for (std::int64_t u = 0; u < units; ++u, numbers += kBlockUnit * kBits / 8) {
      SLUICE_CPU_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        const BlockPair pair = BlockNumbers<kBits>::expand(expanders[j], numbers + j * b_step);
        if (kRows > 1) prefetch_to_l2(numbers + j * b_step + kBlockAheadBytes);
        SLUICE_CPU_UNROLL
        for (int i = 0; i < kRows; ++i) {
          parts[i][j] = fmadd(load(rows + i * row), pair.first, parts[i][j]);
          parts[i][j] = fmadd(load(rows + i * row + kLanes), pair.second, parts[i][j]);
        }
      }
      rows += kBlockUnit;
    }
    SLUICE_CPU_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      const Vec scale = broadcast(scales[j * scales_step + block]);
      SLUICE_CPU_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][j] = fmadd(parts[i][j], scale, sums[i][j]);
    }
  }
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    SLUICE_CPU_UNROLL
    for (int j = 0; j < kColumns; ++j) c[i * c_row + j * columns.step] = reduce_add(sums[i][j]);
  }
}

template <int kBits, bool kHasZeros>
struct Multiply {
  template <int kRows, int kColumns>
  SLUICE_CPU_INLINE void run_tile(const Multiply& m, std::int64_t first, TileColumns columns) {
    block_tile<kBits, kHasZeros, kRows, kColumns>(*m.b, columns, m.rows + first * m.row, m.row,
                                                  m.c + first * m.c_row + columns.first, m.c_row);
  }

  template <int kRows>
  SLUICE_CPU_INLINE void run(const Multiply& m, std::int64_t first) {
    run_tiles<kRows, kBlockColumns<kRows>>(m, first);
  }

  const BlockMatrix* b;
  std::int64_t begin, end;
  const float* rows;
  std::int64_t row;
  float* c;
  std::int64_t c_row;
};

void multiply(const BlockMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
              std::int64_t row, std::int64_t count, float* c, std::int64_t c_row) {
  if (b.bits == 8) {
    b.has_zeros() ? for_rows(count, Multiply<8, true>{&b, begin, end, rows, row, c, c_row})
                  : for_rows(count, Multiply<8, false>{&b, begin, end, rows, row, c, c_row});
  } else {
    b.has_zeros() ? for_rows(count, Multiply<4, true>{&b, begin, end, rows, row, c, c_row})
                  : for_rows(count, Multiply<4, false>{&b, begin, end, rows, row, c, c_row});
  }
}

/// In the order of BlockNumbers::expand, filled up with zeros.
void prepare(const BlockMatrix& b, const float* a, std::int64_t k, float* to) {
  if (b.bits == 8) {
    std::memcpy(to, a, static_cast<std::size_t>(k) * sizeof(float));
    for (std::int64_t p = k; p < b.k; ++p) to[p] = 0;
    return;
  }
  // Two neighbours along K share a byte of B. Masking gives the even ones, shifting the odd ones,
  // so the rows are sorted alike, per unit of two vectors:
  //
  //     a0 a1 a2 a3 ...   ->   a0 a2 a4 ... | a1 a3 a5 ...
  std::int64_t p = 0;
  for (; p + kBlockUnit <= k; p += kBlockUnit) {
    for (int i = 0; i < kLanes; ++i) {
      to[p + i] = a[p + 2 * i];
      to[p + kLanes + i] = a[p + 2 * i + 1];
    }
  }
  for (std::int64_t from = p; p < b.k; ++p) {
    const std::int64_t unit = (p - from) / kBlockUnit * kBlockUnit + from;
    const std::int64_t i = p - unit;
    to[unit + i / 2 + i % 2 * kLanes] = p < k ? a[p] : 0;
  }
}

/// Part of a column as floats, scaled, in the order of K. A block is a whole number of units, so a
/// unit has one scale.
template <int kBits>
SLUICE_CPU_INLINE void widen(const BlockMatrix& b, std::int64_t column, std::int64_t begin,
                             std::int64_t count, float* to) {
  const std::uint8_t* from = b.numbers + (column * b.k + begin) * kBits / 8;
  // One division, which takes as long as a unit: the others would be for each block.
  std::int64_t at = column * (b.k / b.block) + begin / b.block;
  std::int64_t left = b.block - begin % b.block;
  for (std::int64_t p = 0; p < count; ++at, left = b.block) {
    const Vec scale = broadcast(b.scales[at]);
    const float zero = b.has_zeros() ? zero_at<kBits>(b, at) : static_cast<float>(b.zero);
    const auto numbers = BlockNumbers<kBits>::of(b.has_sign, zero);
    const std::int64_t end = p + left < count ? p + left : count;
    for (; p < end; p += kBlockUnit, to += kBlockUnit, from += kBlockUnit * kBits / 8) {
      const BlockPair pair = BlockNumbers<kBits>::expand(numbers, from);
      store_in_order<kBits>({pair.first * scale, pair.second * scale}, to);
    }
  }
}

void widen_column(const BlockMatrix& b, std::int64_t column, std::int64_t begin, std::int64_t count,
                  float* to) {
  b.bits == 8 ? widen<8>(b, column, begin, count, to) : widen<4>(b, column, begin, count, to);
}

}  // namespace

extern const BlockKernels kBlocksInFloats;
const BlockKernels kBlocksInFloats = {prepare, multiply, widen_column, nullptr, nullptr};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
