#include "reference/elements.h"

#include <cmath>

namespace sluice::reference {

namespace {

constexpr std::uint32_t kFloatInfinity = 0x7f800000U;

/// `bits` shifted right by `shift`, rounded to nearest even.
std::uint32_t shift_rounded(std::uint32_t bits, int shift) {
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t odd = (bits >> shift) & 1U;
  return (bits + half - 1 + odd) >> shift;
}

}  // namespace

Half::Half(float value) {
  const auto whole = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = whole >> 16U & 0x8000U;
  const std::uint32_t magnitude = whole & 0x7fffffffU;
  std::uint32_t rounded = 0;
  if (magnitude > kFloatInfinity) {
    rounded = 0x7e00U;                    // NaN
  } else if (magnitude >= 0x38800000U) {  // at least 2^-14: normal; the carry may reach infinity
    rounded = std::min(shift_rounded(magnitude - 0x38000000U, 13), 0x7c00U);
  } else {  // multiples of 2^-24
    rounded =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  }
  bits = static_cast<std::uint16_t>(sign | rounded);
}

Half::operator float() const {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) {
    const std::uint32_t whole =
        (bits & 0x8000U) << 16U | kFloatInfinity | static_cast<std::uint32_t>(mantissa) << 13U;
    return std::bit_cast<float>(whole);
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 25);
}

Bfloat16::Bfloat16(float value) {
  const auto whole = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (whole & 0x7fffffffU) > kFloatInfinity;
  bits = static_cast<std::uint16_t>(is_nan ? whole >> 16U | 0x40U : shift_rounded(whole, 16));
}

Bfloat16::operator float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace sluice::reference
