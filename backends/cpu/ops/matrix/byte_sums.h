#pragma once

#include "kernels/bytes/byte_sums.h"
#include "ops/matrix/byte_panels.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

// Products of bytes whose sums stay integers. Kernels multiply bytes without a sign by bytes with
// one: others change their sign, and their zero points move with them.

/// Zero points of a factor as they lie in an operand: one, or one per row or column; none are 0.
struct ByteZeros {
  const std::uint8_t* data = nullptr;
  bool is_one = true;
  std::uint8_t flip = 0;  ///< of the factor's bytes

  /// As bytes of a row.
  std::int32_t of_row(std::int64_t i) const { return byte(i); }
  /// As bytes of a column.
  std::int32_t of_column(std::int64_t j) const { return static_cast<std::int8_t>(byte(j)); }

 private:
  std::uint8_t byte(std::int64_t i) const {
    const std::uint8_t value = data == nullptr ? 0 : data[is_one ? 0 : i];
    return static_cast<std::uint8_t>(value ^ flip);
  }
};

inline std::uint8_t flip_of_rows(const sluice_tensor& a) {
  return a.element_type == plugin::kI8 ? 0x80 : 0;
}
inline std::uint8_t flip_of_columns(const sluice_tensor& b) {
  return b.element_type == plugin::kU8 ? 0x80 : 0;
}

/// Ok if the operand's zero points are `count` or one, or it is absent. `count` may be unknown
/// (-1).
Status check_byte_zeros(const sluice_op& op, int factor, int zeros, std::int64_t count);

/// Panels of B as BytePanels has them; integers stand in the place of scales and corrections.
/// Writes the panel of columns from `first` on; columns.b is the first one's.
void pack_sum_panel(const BytePanels& panels, const ByteColumns& columns, const ByteZeros& zeros,
                    std::int64_t first, Isa isa, std::byte* panel);

/// Prepared rows of A.
struct ByteRows {
  const std::uint8_t* bytes = nullptr;
  const std::int32_t* sums = nullptr;
  const std::int32_t* zeros = nullptr;
  std::int64_t count = 0;
};

/// Writes rows * panel to c, whose rows are `c_row` apart.
void multiply_sum_panel(const BytePanels& panels, const ByteRows& rows, const std::byte* panel,
                        bool is_narrow, std::int64_t columns, Isa isa, std::int32_t* c,
                        std::int64_t c_row);

}  // namespace sluice::cpu
