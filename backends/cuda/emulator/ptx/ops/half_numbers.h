// fp16 and bf16 as bits, and their way to and from wider floats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/ptx/ops/rounding.h"

namespace sluice::cuda::ptx {

struct Half {
  std::uint16_t bits = 0;
};
struct Brain {
  std::uint16_t bits = 0;
};
/// f16x2 and bf16x2: the lower half of a register first.
template <class H>
struct Pair {
  H low, high;
};

inline float to_float(Half half) {
  const std::uint32_t magnitude = half.bits & 0x7fffu, sign = (half.bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13);
  // The exponent is biased by 15 instead of 127; the product also makes subnormals normal.
  return std::bit_cast<float>(
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f) | sign);
}
inline float to_float(Brain brain) { return std::bit_cast<float>(std::uint32_t{brain.bits} << 16); }

/// Nearest, ties to even; NaN becomes 0x7fff, as PTX has it.
void from_float(float value, Half* half);
void from_float(float value, Brain* brain);

/// In any rounding, from the exact value.
void round_from(double value, Rounding rounding, Half* half);
void round_from(double value, Rounding rounding, Brain* brain);

/// `sum` with its last bit set if `error` is not 0: rounding it to fewer bits then equals rounding
/// `sum + error` ("round to odd", Boldo and Melquiond 2008).
double with_sticky_bit(double sum, double error);

}  // namespace sluice::cuda::ptx
