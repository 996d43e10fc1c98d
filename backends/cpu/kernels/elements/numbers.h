#pragma once

// Facts about element types, for kernel sources, which include no <type_traits> functions.

#include <cstdint>
#include <type_traits>

namespace sluice::cpu {

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool kIsSigned = std::is_signed_v<T>;

template <std::size_t kBytes>
struct UnsignedOfSize;
template <>
struct UnsignedOfSize<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOfSize<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOfSize<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOfSize<8> {
  using Type = std::uint64_t;
};
template <typename T>
using UnsignedOf = typename UnsignedOfSize<sizeof(T)>::Type;

/// What T is computed in where integers wrap: a product of two short unsigned numbers would be a
/// signed int.
template <typename T>
using WrapOf = std::conditional_t<kIsFloat<T>, T,
                                  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

}  // namespace sluice::cpu
