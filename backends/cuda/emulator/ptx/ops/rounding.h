// Rounding modes, flushing of subnormals and saturation of floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "emulator/ptx/decode/decoder.h"
#include "emulator/ptx/ops/lanewise.h"

namespace sluice::cuda::ptx {

enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp };

/// Bits of Instruction::modifiers that floats share; the low two bits are the Rounding.
inline constexpr std::uint32_t kRoundingBits = 3, kFlush = 4, kSaturate = 8, kNan = 16, kRelu = 32;

inline Rounding rounding_of(Modifiers modifiers) {
  return static_cast<Rounding>(modifiers.bits & kRoundingBits);
}

/// Takes rn, rz, rm, rp, ftz, sat, NaN and relu of an opcode.
std::uint32_t take_float_modifiers(Decoder& decoder);

template <class T>
T flush(T value) {
  return std::abs(value) < std::numeric_limits<T>::min() ? std::copysign(T{0}, value) : value;
}

/// [0, 1]; NaN becomes 0.
template <class T>
T saturate(T value) {
  return value > T{0} ? (value < T{1} ? value : T{1}) : T{0};
}

template <class T>
T finish_float(Modifiers modifiers, T value) {
  if (modifiers.has(kFlush)) value = flush(value);
  if (modifiers.has(kSaturate)) value = saturate(value);
  return value;
}

/// The float next to `value + error` in a direction; `error` is less than half an ulp of `value`.
float round_directed(double value, double error, Rounding rounding);

/// a + b = sum + error, exactly (Knuth's TwoSum).
inline double sum_error(double a, double b, double sum) {
  const double part = sum - a;
  return (a - (sum - part)) + (b - part);
}

}  // namespace sluice::cuda::ptx
