#include "kernels/bytes/byte_sums.h"

#include "kernels/bytes/byte_product.h"
#include "kernels/bytes/byte_vectors.h"
#include "kernels/bytes/four_bytes.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Nothing past the first `lanes` bytes is read.
SLUICE_CPU_INLINE VecI widen_first(const std::uint8_t* p, int lanes) {
  if (lanes == kLanes) return widen_bytes(p);
  std::uint8_t bytes[16] = {};  // what widen_bytes reads
  for (int i = 0; i < lanes; ++i) bytes[i] = p[i];
  return widen_bytes(bytes);
}

/// One vector's columns of a panel.
SLUICE_CPU_INLINE VecI pack_lanes(const ByteColumns& c, std::int64_t first, int lanes,
                                  std::int64_t group_bytes, std::int8_t* panel) {
  const VecI flip = broadcast_int(c.flip);
  const Four ones = unsigned_bytes(broadcast_int(0x01010101));
  VecI sums = {};
  for (std::int64_t p = 0; p < c.depth; p += kByteGroup, panel += group_bytes) {
    const int rows = static_cast<int>(c.depth - p < kByteGroup ? c.depth - p : kByteGroup);
    VecI four = {};
    for (int q = 0; q < rows; ++q) {
      four |= (widen_first(c.b + (p + q) * c.row + first, lanes) ^ flip) << (8 * q);
    }
    __builtin_memcpy(panel, &four, sizeof four);
    sums = multiply_add(sums, ones, signed_bytes(four));
  }
  return sums;
}

}  // namespace

void pack_byte_columns(const ByteColumns& columns, std::int64_t width, std::int8_t* panel,
                       std::int32_t* sums) {
  for (std::int64_t first = 0; first < columns.columns; first += kLanes) {
    const std::int64_t left = columns.columns - first;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    const VecI sum =
        pack_lanes(columns, first, lanes, width * kByteGroup, panel + first * kByteGroup);
    __builtin_memcpy(sums + first, &sum, sizeof sum);
  }
}

std::int32_t copy_byte_row(const std::uint8_t* row, std::int64_t count, std::int64_t padded,
                           std::uint8_t flip, std::uint8_t* bytes) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(row[i] ^ flip);
    sum += bytes[i];
  }
  for (std::int64_t i = count; i < padded; ++i) bytes[i] = 0;
  return sum;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
