#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

// Factors of products of bytes whose sums stay integers (ByteTile::sums): rows of A without a sign,
// columns of B with one. `flip` is 0x80 where a byte changes its sign, and so moves by 128; else 0.

/// Columns of a panel of B: B(p, j) = b[p * row + j].
struct ByteColumns {
  const std::uint8_t* b = nullptr;
  std::int64_t row = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;  ///< at most the panel's width
  std::uint8_t flip = 0;
};

SLUICE_CPU_EACH_ISA(
    /// Writes `panel` as ByteTile::b reads it, and the sum of each column. Lanes without a column
    /// are not to be used.
    void pack_byte_columns(const ByteColumns& columns, std::int64_t width, std::int8_t* panel,
                           std::int32_t* sums);
    /// Copies a row, zeros behind it up to `padded`. Returns its sum.
    std::int32_t copy_byte_row(const std::uint8_t* row, std::int64_t count, std::int64_t padded,
                               std::uint8_t flip, std::uint8_t* bytes);)

}  // namespace sluice::cpu
