#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// A constant B of 4 or 8 bits: B(p, j) = (number(j * k + p) - zero) * scale, where `block`
/// neighbours along K share a scale and a zero point. The lower of two numbers in a byte comes
/// first.
/// Requires: `block` is a power of two from 16 on, and k a multiple of it.
struct BlockMatrix {
  const std::uint8_t* numbers = nullptr;  ///< [n][k]
  const float* scales = nullptr;          ///< [n][k / block]
  /// [n][k / block] in the type of the numbers, or else as floats; neither: `zero` is that of all.
  const std::uint8_t* zeros = nullptr;
  const float* float_zeros = nullptr;
  int zero = 0;
  int bits = 4;
  bool has_sign = false;  ///< of the numbers; `zeros` then is null
  std::int64_t k = 0;
  std::int64_t block = 0;

  bool has_zeros() const { return zeros != nullptr || float_zeros != nullptr; }
};

/// Floats of scratch for one prepared row of A over `k` places of B: five bytes a place.
constexpr std::int64_t block_row_floats(std::int64_t k) { return (k + 127) / 128 * 160; }

/// Floats of a row of A that BlockKernels::round made, at most, and from one to the next: a byte a
/// place and three numbers for a block of 16. A line is left over, so that neighbours do not share
/// the sets of a cache.
constexpr std::int64_t rounded_row_floats(std::int64_t k) {
  return ((k + 15) / 16 * 7 + 31) / 16 * 16;
}

/// Floats of scratch for BlockKernels::multiply_rounded: bytes of 32 columns, and two numbers for
/// each block of 16.
constexpr std::int64_t rounded_panel_floats(std::int64_t k) { return (k + 15) / 16 * 6 * 32; }

/// Products with such a matrix in the kernels of one instruction set.
struct BlockKernels {
  /// Puts the `k` floats of a row of A, k <= b.k, into the form that `multiply` reads:
  /// block_row_floats(b.k) floats.
  void (*prepare)(const BlockMatrix& b, const float* a, std::int64_t k, float* row) = nullptr;
  /// C(i, j) of `count` prepared rows, `row` floats apart, for the columns j in [begin, end). For a
  /// few rows: the numbers are expanded in registers alone.
  void (*multiply)(const BlockMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
                   std::int64_t row, std::int64_t count, float* c, std::int64_t c_row) = nullptr;
  /// For many rows that are not rounded: the numbers of column `column` from row `begin` on as
  /// floats, in their order; fills `to` up to a multiple of 32. Requires: `begin` is such a
  /// multiple.
  void (*widen)(const BlockMatrix& b, std::int64_t column, std::int64_t begin, std::int64_t count,
                float* to) = nullptr;
  /// For many rows that are rounded: as `prepare`, rounded_row_floats(b.k) floats.
  void (*round)(const BlockMatrix& b, const float* a, std::int64_t k, float* row) = nullptr;
  /// As `multiply`, of rows that `round` made. Some columns of B are brought into panels of
  /// vectors, in `panel`, once for all rows.
  void (*multiply_rounded)(const BlockMatrix& b, std::int64_t begin, std::int64_t end,
                           const float* rows, std::int64_t count, float* c, std::int64_t c_row,
                           float* panel) = nullptr;
};

/// `rounds_rows`: blocks of a row of A are rounded to 127 steps either way of their largest
/// magnitude, and their products with the numbers of B are exact sums of bytes. A block with a NaN
/// or an infinity makes NaN.
const BlockKernels& block_kernels(const BlockMatrix& b, bool rounds_rows, Isa isa);

SLUICE_CPU_EACH_ISA(extern const BlockKernels kBlocksInFloats;
                    extern const BlockKernels kBlocksInBytes;)

#if defined(__x86_64__)
namespace avx512vnni {
extern const BlockKernels kBlocksInBytes;
}
#endif

}  // namespace sluice::cpu
