#include "reference/small_floats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::reference {

std::optional<SmallFloat> SmallFloat::of(sluice_element_type type) {
  switch (type) {
    case plugin::kF8E4M3Fn: return SmallFloat{4, 3, 7, 0x7e, 0x7f};
    case plugin::kF8E4M3Fnuz: return SmallFloat{4, 3, 8, 0x7f, 0x80, false, false};
    case plugin::kF8E5M2: return SmallFloat{5, 2, 15, 0x7b, 0x7e, true};
    case plugin::kF8E5M2Fnuz: return SmallFloat{5, 2, 16, 0x7f, 0x80, false, false};
    case plugin::kF4E2M1: return SmallFloat{2, 1, 1, 0x7, 0x8, false, true, true};
    default: return std::nullopt;
  }
}

float SmallFloat::decode(std::uint8_t bits) const {
  const int sign_bit = 1 << (exponent_bits + mantissa_bits);
  const int magnitude = bits & (sign_bit - 1);
  const float sign = (bits & sign_bit) != 0 ? -1.0F : 1.0F;
  if (!has_negative_zero && bits == nan) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > largest) {
    return has_infinity && magnitude == largest + 1 ? sign * std::numeric_limits<float>::infinity()
                                                    : std::numeric_limits<float>::quiet_NaN();
  }
  const int exponent = magnitude >> mantissa_bits;
  const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
  const int implicit = exponent == 0 ? 0 : 1 << mantissa_bits;
  return sign * std::ldexp(static_cast<float>(implicit + mantissa),
                           std::max(exponent, 1) - bias - mantissa_bits);
}

std::uint8_t SmallFloat::encode(float value, bool saturates) const {
  const int sign = std::signbit(value) ? 1 << (exponent_bits + mantissa_bits) : 0;
  const auto finish = [&](int bits) { return static_cast<std::uint8_t>(bits); };
  const int signed_nan = has_negative_zero ? nan | sign : nan;
  if (std::isnan(value)) return finish(signed_nan);
  if (value == 0) return finish(has_negative_zero ? sign : 0);
  int bits = largest + 1;
  if (!std::isinf(value)) {
    int exponent = 0;
    std::frexp(value, &exponent);  // |value| = [0.5, 1) * 2^exponent
    const int least_unit = 1 - bias - mantissa_bits;
    const int unit = std::max(exponent - 1 - mantissa_bits, least_unit);
    // `places` has the implicit digit, which counts as the first exponent; when rounding makes it
    // one digit longer, the carry raises the exponent by itself.
    const auto places = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(value), -unit)));
    const int steps = std::min(unit - least_unit, 64);
    bits = std::min(places + (steps << mantissa_bits), largest + 1);
  }
  if (bits == 0) return finish(has_negative_zero ? sign : 0);
  if (bits <= largest) return finish(bits | sign);
  // The largest finite number, or what the format has beyond it: infinity, or only NaN.
  if (saturates || always_saturates) return finish(largest | sign);
  return finish(has_infinity ? (largest + 1) | sign : signed_nan);
}

namespace {

constexpr int kNan = 255;
constexpr int kBias = 127;

}  // namespace

float decode_e8m0(std::uint8_t bits) {
  if (bits == kNan) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, bits - kBias);
}

std::uint8_t encode_e8m0(float value, bool saturates, std::string_view rounding) {
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return kNan;
  if (std::isinf(value)) return saturates ? kNan - 1 : kNan;
  if (magnitude == 0) return 0;
  int exponent = 0;
  const float fraction = 2 * std::frexp(magnitude, &exponent);  // [1, 2)
  exponent -= 1;
  const bool goes_up = rounding == "up"        ? fraction > 1
                       : rounding == "nearest" ? fraction >= 1.5F
                                               : false;
  const int bits = std::max(exponent + (goes_up ? 1 : 0) + kBias, 0);
  if (bits >= kNan) return saturates ? kNan - 1 : kNan;
  return static_cast<std::uint8_t>(bits);
}

std::uint8_t PackedBits::get(std::size_t index) const {
  const auto byte = static_cast<unsigned>(bytes_[index / per_byte()]);
  return static_cast<std::uint8_t>((byte >> shift(index)) & ((1U << bits_) - 1));
}

void PackedBits::set(std::size_t index, std::uint8_t value) const {
  const unsigned mask = ((1U << bits_) - 1) << shift(index);
  std::byte& byte = bytes_[index / per_byte()];
  byte = static_cast<std::byte>((static_cast<unsigned>(byte) & ~mask) |
                                ((static_cast<unsigned>(value) << shift(index)) & mask));
}

}  // namespace sluice::reference
