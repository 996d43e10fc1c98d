#include "core/simd.h"
#include "kernels/elements/numbers.h"
#include "kernels/elements/typed.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Converts floats that no integer of 32 bits holds.
template <typename From>
SLUICE_CPU_INLINE std::int64_t saturated(From x) {
  if (x != x) return 0;
  if (x >= static_cast<From>(9223372036854775808.0)) return INT64_MAX;
  return x < static_cast<From>(-9223372036854775808.0) ? INT64_MIN : static_cast<std::int64_t>(x);
}

/// Without a branch.
template <typename From>
SLUICE_CPU_INLINE std::int32_t saturated_int(From x) {
  const auto limit = static_cast<From>(2147483648.0);
  const std::int32_t whole =
      x < limit ? static_cast<std::int32_t>(x < -limit ? -limit : x) : INT32_MAX;
  return x != x ? 0 : whole;
}

template <typename From, typename To>
SLUICE_CPU_INLINE To saturated_to(From x) {
  if constexpr (std::is_same_v<To, std::int32_t>) return saturated_int(x);
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (x >= static_cast<From>(18446744073709551616.0)) return UINT64_MAX;
    if (x >= static_cast<From>(9223372036854775808.0)) return static_cast<std::uint64_t>(x);
  }
  return static_cast<To>(saturated(x));
}

/// Numbers that are looked at together: if all fit 32 bits, vectors convert them.
constexpr std::int64_t kBlock = 64;

template <typename From, typename To>
SLUICE_CPU_INLINE void cut(const From* from, To* to, std::int64_t count) {
  std::int32_t outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const From size = from[i] < From{0} ? -from[i] : from[i];
    outside |= size < static_cast<From>(2147483648.0) ? 0 : 1;
  }
  if (outside != 0) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = saturated_to<From, To>(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<To>(static_cast<std::int32_t>(from[i]));
    }
  }
}

/// Integers of 64 bits become floats by way of 32 bits where those hold them: there are
/// instructions.
template <typename From, typename To>
SLUICE_CPU_INLINE void widen(const From* from, To* to, std::int64_t count) {
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (kIsSigned<From>) outside |= from[i] ^ static_cast<std::int32_t>(from[i]);
    if constexpr (!kIsSigned<From>) outside |= static_cast<std::int64_t>(from[i] >> 31);
  }
  if (outside != 0) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<To>(static_cast<std::int32_t>(from[i]));
    }
  }
}

/// Whole blocks have a length that the compiler knows.
template <typename From, typename To, typename Convert>
SLUICE_CPU_INLINE void each_block(const From* from, To* to, std::int64_t count, Convert convert) {
  std::int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) convert(from + i, to + i, kBlock);
  convert(from + i, to + i, count - i);
}

template <typename From, typename To>
void convert(const void* from_data, void* to_data, std::int64_t count) {
  const auto* from = static_cast<const From*>(from_data);
  auto* to = static_cast<To*>(to_data);
  if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    each_block(from, to, count, cut<From, To>);
  } else if constexpr (!kIsFloat<From> && kIsFloat<To> && sizeof(From) == 8) {
    each_block(from, to, count, widen<From, To>);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  }
}

template <typename From>
void test(const void* from_data, void* to_data, std::int64_t count) {
  const auto* from = static_cast<const From*>(from_data);
  auto* to = static_cast<std::uint8_t*>(to_data);
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] != From{0} ? 1 : 0;
}

template <typename From>
ConvertLoop convert_from(Number to, bool to_bool) {
  if (to_bool) return test<From>;
  switch (to) {
    case Number::kU8: return convert<From, std::uint8_t>;
    case Number::kI8: return convert<From, std::int8_t>;
    case Number::kU16: return convert<From, std::uint16_t>;
    case Number::kI16: return convert<From, std::int16_t>;
    case Number::kU32: return convert<From, std::uint32_t>;
    case Number::kI32: return convert<From, std::int32_t>;
    case Number::kU64: return convert<From, std::uint64_t>;
    case Number::kI64: return convert<From, std::int64_t>;
    case Number::kF32: return convert<From, float>;
    case Number::kF64: return convert<From, double>;
  }
  return nullptr;
}

}  // namespace

ConvertLoop convert_loop(Number from, Number to, bool to_bool) {
  switch (from) {
    case Number::kU8: return convert_from<std::uint8_t>(to, to_bool);
    case Number::kI8: return convert_from<std::int8_t>(to, to_bool);
    case Number::kU16: return convert_from<std::uint16_t>(to, to_bool);
    case Number::kI16: return convert_from<std::int16_t>(to, to_bool);
    case Number::kU32: return convert_from<std::uint32_t>(to, to_bool);
    case Number::kI32: return convert_from<std::int32_t>(to, to_bool);
    case Number::kU64: return convert_from<std::uint64_t>(to, to_bool);
    case Number::kI64: return convert_from<std::int64_t>(to, to_bool);
    case Number::kF32: return convert_from<float>(to, to_bool);
    case Number::kF64: return convert_from<double>(to, to_bool);
  }
  return nullptr;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
