#include "ir/numbers/short_float.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice::ir {

float widen_f16(std::uint16_t bits) {
  const bool is_negative = (bits & 0x8000U) != 0;
  const int exponent = bits >> 10U & 0x1FU;
  const int mantissa = bits & 0x3FFU;
  float value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return is_negative ? -value : value;
}

float widen_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16U;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

std::uint16_t narrow_to_f16(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude == 0.0F) return sign;
  if (magnitude >= 65520.0F) return sign | 0x7c00;
  int exponent = 0;
  static_cast<void>(std::frexp(magnitude, &exponent));  // magnitude = [0.5, 1) * 2^exponent
  const int unit = std::max(exponent - 11, -24);        // exponent of the last place
  const float places = std::nearbyint(std::ldexp(magnitude, -unit));
  return static_cast<std::uint16_t>(sign + static_cast<int>(places) + (unit + 24) * 1024);
}

std::uint16_t narrow_to_bf16(float value) {
  if (std::isnan(value)) return 0x7fc0;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  // Adds just less than half of the last kept place, and half of it where that is odd.
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
}

}  // namespace sluice::ir
