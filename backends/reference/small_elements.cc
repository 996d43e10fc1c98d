#include "reference/small_elements.h"

#include <cstring>

namespace sluice::reference {
namespace {

int packed_bits(sluice_element_type type) {
  const int bits = plugin::element_bits(type);
  return bits == 4 || bits == 2 ? bits : 0;
}

bool is_signed(sluice_element_type type) { return type == plugin::kI4 || type == plugin::kI2; }

PackedBits packed_of(const sluice_tensor& tensor) {
  return {{static_cast<std::byte*>(tensor.data), static_cast<std::size_t>(tensor.size_bytes)},
          packed_bits(tensor.element_type)};
}

double decode(sluice_element_type type, std::uint8_t bits) {
  if (const auto format = SmallFloat::of(type)) return format->decode(bits);
  if (type == plugin::kF8E8M0) return decode_e8m0(bits);
  // Two's complement: the upper half of the codes is negative.
  const int range = 1 << packed_bits(type);
  return is_signed(type) && bits >= range / 2 ? bits - range : bits;
}

}  // namespace

bool is_small(sluice_element_type type) {
  return SmallFloat::of(type).has_value() || type == plugin::kF8E8M0 || packed_bits(type) != 0;
}

std::vector<double> read_small(const sluice_tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(plugin::num_elements(tensor)));
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data);
  const bool is_packed = packed_bits(tensor.element_type) != 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint8_t bits = is_packed ? packed_of(tensor).get(i) : bytes[i];
    values[i] = decode(tensor.element_type, bits);
  }
  return values;
}

void write_small(const sluice_tensor& tensor, std::span<const std::uint8_t> bits) {
  if (bits.empty()) return;
  if (packed_bits(tensor.element_type) == 0) {
    std::memcpy(tensor.data, bits.data(), bits.size());
    return;
  }
  std::memset(tensor.data, 0, static_cast<std::size_t>(tensor.size_bytes));
  const PackedBits packed = packed_of(tensor);
  for (std::size_t i = 0; i < bits.size(); ++i) packed.set(i, bits[i]);
}

SmallRange small_range(sluice_element_type type) {
  const double count = 1 << packed_bits(type);
  if (is_signed(type)) return {-count / 2, count / 2 - 1};
  return {0, count - 1};
}

}  // namespace sluice::reference
