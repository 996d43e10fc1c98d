// Arithmetic that is defined for every value: integers wrap, conversions saturate.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sluice::reference {

/// Two's complement results, cut to `T`; plain arithmetic for floats.
template <typename T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <typename T>
T subtract(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a - b;
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <typename T>
T negate(T a) {
  if constexpr (std::is_floating_point_v<T>) return -a;  // 0 - 0.0 would lose the sign
  return subtract(T{0}, a);
}

template <typename T>
bool is_negative(T a) {
  if constexpr (std::is_unsigned_v<T>) return false;
  return a < T{0};
}

/// Cut towards zero. Requires: b != 0 for integers.
template <typename T>
T divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a / b;
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return negate(a);  // the least integer has no positive
  }
  return static_cast<T>(a / b);
}

/// With the sign of a. Requires: b != 0 for integers.
template <typename T>
T remainder_like_dividend(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
  return subtract(a, multiply(divide(a, b), b));
}

/// With the sign of b, zeros included. Requires: b != 0 for integers.
template <typename T>
T remainder_like_divisor(T a, T b) {
  const T rest = remainder_like_dividend(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (rest == 0) return std::copysign(rest, b);
  }
  return rest != T{0} && is_negative(rest) != is_negative(b) ? add(rest, b) : rest;
}

/// NaN if either is.
template <typename T>
T largest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return a < b ? b : a;
}
template <typename T>
T smallest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return b < a ? b : a;
}

/// Any number as `To`: bool is "not 0"; a float becomes the integer towards zero, the nearest one
/// if it is out of range, 0 for NaN; integers are cut to their low bits.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return To{0};
    // 2^n, the first value past the largest, is a float; the largest itself may not be.
    const auto limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (value >= limit) return std::numeric_limits<To>::max();
    if (value < static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace sluice::reference
