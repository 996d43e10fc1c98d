#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

// Products of matrices in 8 bits. A row of A is rounded to 127 steps either way of its largest
// magnitude, a column of B to as many of its own, and
//
//     C(i, j) = row_scale(i) * column_scale(j) * sum over p of a(i, p) * b(p, j) + bias(j)
//
// where the sum is exact, in 32 bits, on every instruction set. Bytes of A are stored as a + 128,
// for the instruction that multiplies four pairs at once wants one factor without sign; what that
// adds to the sum, 128 times the sum of the column, is subtracted at the end.

inline constexpr int kByteGroup =
    4;  ///< neighbours along the depth that one instruction multiplies

/// A panel of B is narrow if the first two bytes of each group, and its last two, are at most so
/// large together, in magnitude. 255 times as much fits 16 bits.
inline constexpr std::int32_t kMostOfNarrowPair = 128;

/// Where the sums of a tile stay integers, less the zero points of A's rows and of B's columns:
///
///     C(i, j) = sum over p of (a(i, p) - row_zeros(i)) * (b(p, j) - column_zeros(j))
///
/// Integers wrap.
struct ByteSums {
  std::int32_t* c = nullptr;  ///< null: the tile's sums become floats
  const std::int32_t* row_zeros = nullptr;
  const std::int32_t* row_sums = nullptr;
  const std::int32_t* column_zeros = nullptr;  ///< [width]
  /// [width]: the sum of the column less depth * column_zeros.
  const std::int32_t* column_sums = nullptr;
};

/// A tile of rows of A times one panel of B. `a` is [rows][groups * 4]; `b` is [groups][width][4].
struct ByteTile {
  const std::uint8_t* a = nullptr;
  std::int64_t a_row = 0;  ///< bytes
  const std::int8_t* b = nullptr;
  std::int64_t groups = 0;
  float* c = nullptr;
  std::int64_t c_row = 0;                     ///< floats
  const float* row_scales = nullptr;          ///< one per row
  const float* column_scales = nullptr;       ///< [width]
  const std::int32_t* corrections = nullptr;  ///< [width]: 128 times the sum of the column
  const float* bias = nullptr;                ///< [columns]; null: none
  int columns = 0;                            ///< of C, at most `width`
  ByteSums sums = {};                         ///< replaces `c` and what scales it
};

using ByteTileKernel = void (*)(const ByteTile&);

/// The micro-kernels of one instruction set.
struct ByteTileSet {
  int rows = 0;   ///< most rows of a tile
  int width = 0;  ///< columns of a panel
  /// Requires: 1 <= rows <= the limit above; 1 <= columns <= width. The panel is narrow if
  /// `is_narrow`.
  ByteTileKernel (*find)(int rows, int columns, bool is_narrow) = nullptr;
  /// Whether kernels of narrow panels are others.
  bool knows_narrow = false;
};

SLUICE_CPU_EACH_ISA(extern const ByteTileSet kByteTiles;
                    /// Rounds `count` floats to bytes, 128 being zero, and fills up to `padded` of
                    /// them. A row with a NaN or an infinity has the scale NaN.
                    void round_row(const float* row, std::int64_t count, std::int64_t padded,
                                   std::uint8_t* bytes, float* scale);
                    /// Whether a panel of `count` bytes is narrow.
                    bool is_narrow_panel(const std::int8_t* b, std::int64_t count);)

#if defined(__x86_64__)
namespace avx512vnni {
extern const ByteTileSet kByteTiles;
}
#endif

}  // namespace sluice::cpu
