#pragma once

// Doubles in vectors. Included by kernel sources only.

#include <cstdint>

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

using Doubles = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
using Bits = std::uint64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
using Mask = std::int64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
inline constexpr int kDoubles = SLUICE_CPU_VECTOR_BYTES / 8;

/// Added to a number below 2^51, it leaves the nearest integer in the low bits: 1.5 * 2^52.
inline constexpr double kMagic = 6755399441055744.0;
inline constexpr double kLog2E = 1.4426950408889634;
// log(2) in two parts, so that the first times an exponent is exact.
inline constexpr double kLog2High = 0.693147180369123816490;
inline constexpr double kLog2Low = 1.90821492927058770002e-10;

SLUICE_CPU_INLINE Doubles all_of(double x) { return x - Doubles{}; }
SLUICE_CPU_INLINE Doubles choose(Mask mask, Doubles a, Doubles b) { return mask ? a : b; }
SLUICE_CPU_INLINE Doubles size_of(Doubles x) { return (Doubles)((Bits)x & 0x7fffffffffffffffU); }
SLUICE_CPU_INLINE Doubles with_sign(Doubles size, Doubles sign) {
  return (Doubles)((Bits)size | ((Bits)sign & 0x8000000000000000U));
}

/// exp(x) = (1 + tail) * low * high, of which the last two are powers of two: their product may
/// have an exponent that a double has not.
struct Exponential {
  Doubles tail;
  Doubles low;
  Doubles high;
};

/// By the Taylor series of what is left of x once the nearest multiple of log(2) is taken: at most
/// log(2) / 2, so that the term after the last is 2^-59 of the sum.
SLUICE_CPU_INLINE Exponential exponential(Doubles x) {
  // A NaN passes these: a comparison with it is false.
  x = x > 710.0 ? all_of(710.0) : x;
  x = x < -746.0 ? all_of(-746.0) : x;
  const Doubles shifted = x * kLog2E + kMagic;
  const Doubles power = shifted - kMagic;
  const Doubles r = (x - power * kLog2High) - power * kLog2Low;
  Doubles p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const Bits biased = (Bits)shifted - (Bits)all_of(kMagic) + 2 * 1023;
  const Bits half = biased >> 1;
  return {r * r * p + r, (Doubles)(half << 52), (Doubles)((biased - half) << 52)};
}

SLUICE_CPU_INLINE Doubles exp_of(Doubles x) {
  const Exponential e = exponential(x);
  return (e.tail + 1.0) * e.low * e.high;
}

/// The logarithm of normal, finite x > 0: x = 2^n * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). With
/// s = f / (2 + f), log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 ..., where 2 s = f - f^2/2 + s f^2/2.
SLUICE_CPU_INLINE Doubles log_normal(Doubles x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdU;
  const Bits above = (Bits)x - kRootHalf + 0x3ff0000000000000U;
  const Doubles power = (Doubles)((above >> 52) - 1023 + (Bits)all_of(kMagic)) - kMagic;
  const Doubles f = (Doubles)((above & 0x000fffffffffffffU) + kRootHalf) - 1.0;
  const Doubles s = f / (f + 2.0);
  const Doubles square = s * s;
  Doubles p = square * (2.0 / 23) + 2.0 / 21;
  p = p * square + 2.0 / 19;
  p = p * square + 2.0 / 17;
  p = p * square + 2.0 / 15;
  p = p * square + 2.0 / 13;
  p = p * square + 2.0 / 11;
  p = p * square + 2.0 / 9;
  p = p * square + 2.0 / 7;
  p = p * square + 2.0 / 5;
  p = p * square + 2.0 / 3;
  const Doubles half = f * f * 0.5;
  const Doubles low = s * (half + square * p) + power * kLog2Low;
  return power * kLog2High + (f - (half - low));
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
