// Element types in memory as C++ types that convert to the type they are computed in.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "sluice/backend.hpp"

namespace sluice::reference {

/// IEEE binary16. Conversion from float rounds to nearest even.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  Half(float value);       // NOLINT(google-explicit-constructor)
  operator float() const;  // NOLINT(google-explicit-constructor)
};

/// The upper half of a float. Conversion from float rounds to nearest even.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  Bfloat16(float value);   // NOLINT(google-explicit-constructor)
  operator float() const;  // NOLINT(google-explicit-constructor)
};

/// A byte; every value except 0 is true.
struct Bool {
  std::uint8_t byte = 0;

  Bool() = default;
  Bool(bool value) : byte(value ? 1 : 0) {}    // NOLINT(google-explicit-constructor)
  operator bool() const { return byte != 0; }  // NOLINT(google-explicit-constructor)
};

/// An element of a string tensor. A kernel stores new text with `Call::keep`.
struct Text {
  sluice_text text = {};

  Text() = default;
  Text(sluice_text from) : text(from) {}  // NOLINT(google-explicit-constructor)
  operator std::string_view() const {
    return plugin::view(text);
  }  // NOLINT(google-explicit-constructor)
};
static_assert(sizeof(Text) == sizeof(sluice_text));

/// The type to compute in: float for Half and Bfloat16, bool for Bool, std::string_view for Text,
/// else `T` itself.
template <typename T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<Half> {
  using Type = float;
};
template <>
struct ComputeOf<Bfloat16> {
  using Type = float;
};
template <>
struct ComputeOf<Bool> {
  using Type = bool;
};
template <>
struct ComputeOf<Text> {
  using Type = std::string_view;
};
template <typename T>
using Compute = typename ComputeOf<T>::Type;

template <typename T>
constexpr plugin::ElementType element_type_of() {
  using namespace plugin;
  if constexpr (std::is_same_v<T, Half>) return kF16;
  if constexpr (std::is_same_v<T, Bfloat16>) return kBf16;
  if constexpr (std::is_same_v<T, float>) return kF32;
  if constexpr (std::is_same_v<T, double>) return kF64;
  if constexpr (std::is_same_v<T, Bool>) return kBool;
  if constexpr (std::is_same_v<T, Text>) return kString;
  if constexpr (std::is_same_v<T, std::complex<float>>) return kC64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return kC128;
  if constexpr (std::is_same_v<T, std::int8_t>) return kI8;
  if constexpr (std::is_same_v<T, std::int16_t>) return kI16;
  if constexpr (std::is_same_v<T, std::int32_t>) return kI32;
  if constexpr (std::is_same_v<T, std::int64_t>) return kI64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return kU8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return kU16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return kU32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return kU64;
  return kAbsent;
}

// ---- sets of types ------------------------------------------------------------------------------

template <typename... Ts>
struct Types {};

template <typename... As, typename... Bs>
constexpr Types<As..., Bs...> operator+(Types<As...>, Types<Bs...>) {
  return {};
}

inline constexpr Types<Half, Bfloat16, float, double> kFloats;
inline constexpr Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t> kSignedInts;
inline constexpr Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t> kUnsignedInts;
inline constexpr Types<std::int32_t, std::int64_t> kIndices;
inline constexpr Types<Bool> kBools;
inline constexpr Types<Text> kTexts;
inline constexpr Types<std::complex<float>, std::complex<double>> kComplex;
inline constexpr auto kInts = kSignedInts + kUnsignedInts;
inline constexpr auto kNumbers = kFloats + kInts;
inline constexpr auto kNumbersAndBool = kNumbers + kBools;

template <typename... Ts>
constexpr bool contains(Types<Ts...>, sluice_element_type type) {
  return ((element_type_of<Ts>() == type) || ...);
}

/// Calls `function.template operator()<T>()`, which returns a Status, for the C++ type of `type`.
///
///   return dispatch(kFloats, call.input(0).element_type, [&]<typename T>() { ... return ok(); });
template <typename... Ts, typename Function>
plugin::Status dispatch(Types<Ts...>, sluice_element_type type, const Function& function) {
  plugin::Status status = plugin::unimplemented("element type " + std::to_string(type));
  static_cast<void>(
      ((element_type_of<Ts>() == type ? (status = function.template operator()<Ts>(), true)
                                      : false) ||
       ...));
  return status;
}

}  // namespace sluice::reference
