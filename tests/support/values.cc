#include "support/values.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace sluice::testing {
namespace {

using ir::ElementType;

/// A float format of 16 bits, by its mantissa's bits and least normal exponent.
struct Format {
  int mantissa_bits;
  int least_exponent;
};
constexpr Format kHalf = {10, -14};
constexpr Format kBfloat = {7, -126};

std::uint16_t encode_16(double value, Format format) {
  const int exponent_bits = 15 - format.mantissa_bits;
  const auto infinity = ((1U << exponent_bits) - 1U) << format.mantissa_bits;
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::abs(value);
  std::uint32_t bits = infinity;
  if (std::isnan(value)) {
    bits = infinity | 1U << (format.mantissa_bits - 1);
  } else if (magnitude > 0 && std::isfinite(magnitude)) {
    const int exponent = std::max(std::ilogb(magnitude), format.least_exponent);
    const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
    const auto base = static_cast<std::uint32_t>(exponent - format.least_exponent)
                      << format.mantissa_bits;  // a carry of `steps` is the next exponent
    bits = std::min(infinity, base + static_cast<std::uint32_t>(steps));
  } else if (magnitude == 0) {
    bits = 0;
  }
  return static_cast<std::uint16_t>(sign | bits);
}

double decode_16(std::uint16_t bits, Format format) {
  const int exponent_bits = 15 - format.mantissa_bits;
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = bits >> format.mantissa_bits & ((1 << exponent_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
  const int hidden = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  const int power = std::max(exponent - 1, 0) + format.least_exponent - format.mantissa_bits;
  return sign * std::ldexp(mantissa + hidden, power);
}

struct Half16 {
  static std::uint16_t from(double value) { return encode_16(value, kHalf); }
  static double to(std::uint16_t bits) { return decode_16(bits, kHalf); }
};
struct Bfloat {
  static std::uint16_t from(double value) { return encode_16(value, kBfloat); }
  static double to(std::uint16_t bits) { return decode_16(bits, kBfloat); }
};
template <typename T>
struct Plain {
  static T from(double value) { return static_cast<T>(value); }
  static double to(T value) { return static_cast<double>(value); }
};
struct Bool {
  static std::uint8_t from(double value) { return value != 0 ? 1 : 0; }
  static double to(std::uint8_t value) { return value; }
};

/// Calls `function` with the converter of `type`.
template <typename Function>
auto with_converter(ElementType type, const Function& function) {
  switch (type) {
    case ElementType::kF16: return function(Half16());
    case ElementType::kBf16: return function(Bfloat());
    case ElementType::kF64: return function(Plain<double>());
    case ElementType::kI8: return function(Plain<std::int8_t>());
    case ElementType::kU8: return function(Plain<std::uint8_t>());
    case ElementType::kI16: return function(Plain<std::int16_t>());
    case ElementType::kU16: return function(Plain<std::uint16_t>());
    case ElementType::kI32: return function(Plain<std::int32_t>());
    case ElementType::kU32: return function(Plain<std::uint32_t>());
    case ElementType::kI64: return function(Plain<std::int64_t>());
    case ElementType::kU64: return function(Plain<std::uint64_t>());
    case ElementType::kBool: return function(Bool());
    default: return function(Plain<float>());
  }
}

}  // namespace

std::vector<std::byte> encode(ElementType type, std::span<const double> values) {
  return with_converter(type, [&](auto converter) {
    const std::size_t size = sizeof(converter.from(0));
    std::vector<std::byte> bytes(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto element = converter.from(values[i]);
      std::memcpy(bytes.data() + i * size, &element, size);
    }
    return bytes;
  });
}

std::vector<double> decode(ElementType type, std::span<const std::byte> bytes) {
  return with_converter(type, [&](auto converter) {
    auto element = converter.from(0);
    std::vector<double> values(bytes.size() / sizeof(element));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&element, bytes.data() + i * sizeof(element), sizeof(element));
      values[i] = converter.to(element);
    }
    return values;
  });
}

}  // namespace sluice::testing
