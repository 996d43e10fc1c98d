#include "emulator/ptx/ops/half_numbers.h"

#include <algorithm>

namespace sluice::cuda::ptx {
namespace {

constexpr std::uint16_t kNanBits = 0x7fff;

bool rounds_up(double fraction, bool is_odd, bool is_negative, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest: return fraction > 0.5 || (fraction == 0.5 && is_odd);
    case Rounding::kDown: return is_negative && fraction > 0;
    case Rounding::kUp: return !is_negative && fraction > 0;
    default: return false;
  }
}

/// A float of 16 bits with `mantissa` bits behind its point.
std::uint16_t round_to_16(double value, int mantissa, int min_exponent, Rounding rounding) {
  if (std::isnan(value)) return kNanBits;
  const bool is_negative = std::signbit(value);
  const auto sign = static_cast<std::uint32_t>(is_negative) << 15;
  const std::uint32_t infinity = 0x7fffu >> mantissa << mantissa;
  const double magnitude = std::abs(value);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const int exponent = std::max(std::ilogb(magnitude), min_exponent);
  const double scaled = std::ldexp(magnitude, mantissa - exponent), whole = std::floor(scaled);
  auto units = static_cast<std::uint32_t>(whole);
  if (rounds_up(scaled - whole, (units & 1) != 0, is_negative, rounding)) ++units;
  // An overflow of the units carries into the exponent, which is what the format wants.
  const std::int64_t bits =
      (std::int64_t{exponent} - min_exponent) * (std::int64_t{1} << mantissa) + units;
  if (bits < infinity) return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(bits));
  const bool stays_finite = rounding == Rounding::kZero ||
                            (rounding == Rounding::kDown && !is_negative) ||
                            (rounding == Rounding::kUp && is_negative);
  return static_cast<std::uint16_t>(sign | (stays_finite ? infinity - 1 : infinity));
}

}  // namespace

void from_float(float value, Half* half) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000u) {
    half->bits = kNanBits;
    return;
  }
  if (magnitude >= 0x47800000u) {  // 65536
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below the normal numbers: the sum's last bit is 2^-24
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    result = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  }
  half->bits = static_cast<std::uint16_t>(sign | result);
}

void from_float(float value, Brain* brain) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  brain->bits = std::isnan(value)
                    ? kNanBits
                    : static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

void round_from(double value, Rounding rounding, Half* half) {
  half->bits = round_to_16(value, 10, -14, rounding);
}

void round_from(double value, Rounding rounding, Brain* brain) {
  brain->bits = round_to_16(value, 7, -126, rounding);
}

double with_sticky_bit(double sum, double error) {
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || !std::isfinite(sum) || (bits & 1) != 0) return sum;
  // An even neighbour: the exact value lies on the side of `error`.
  const bool is_away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(is_away ? bits + 1 : bits - 1);
}

}  // namespace sluice::cuda::ptx
