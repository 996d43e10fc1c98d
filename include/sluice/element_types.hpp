// C++ types of tensor elements and their numbers; floats of 16 bits, without arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace sluice {

namespace detail {

/// The upper half of a binary32, rounded to the nearest, ties to even. NaN stays NaN.
inline std::uint16_t to_bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

/// Rounds to the nearest, ties to even; beyond 65504 to infinity. NaN stays NaN.
inline std::uint16_t to_half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  const float size = std::fabs(value);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (size < 0x1p-14F) {  // subnormal: a multiple of 2^-24
    const float steps = std::nearbyint(size * 0x1p24F);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(steps));
  }
  const std::uint32_t magnitude = (bits & 0x7FFFFFFFU) - (112U << 23U);  // exponent bias 127 -> 15
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(rounded >> 13U));
}

inline float from_half_bits(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = half >> 10U & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

}  // namespace detail

/// IEEE 754 binary16, element type 10 (FLOAT16).
struct Half {
  Half() = default;
  explicit Half(float value) : bits(detail::to_half_bits(value)) {}
  explicit operator float() const { return detail::from_half_bits(bits); }
  std::uint16_t bits = 0;
};

/// The upper half of an IEEE 754 binary32, element type 16 (BFLOAT16).
struct BFloat16 {
  BFloat16() = default;
  explicit BFloat16(float value) : bits(detail::to_bfloat16_bits(value)) {}
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
  std::uint16_t bits = 0;
};

/// The number of a C++ element type in ONNX's TensorProto.DataType.
template <typename T>
constexpr std::int32_t element_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return 1;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return 2;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return 3;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return 4;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return 5;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return 6;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return 7;
  else if constexpr (std::is_same_v<T, bool>)
    return 9;
  else if constexpr (std::is_same_v<T, Half>)
    return 10;
  else if constexpr (std::is_same_v<T, double>)
    return 11;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return 12;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return 13;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return 16;
  else
    static_assert(sizeof(T) == 0, "no tensor element type");
}

}  // namespace sluice
