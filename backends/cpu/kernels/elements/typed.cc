#include "kernels/elements/typed.h"

#include "core/simd.h"
#include "kernels/elements/double_functions.h"
#include "kernels/elements/numbers.h"

extern "C" double pow(double, double);  // from libm, without <cmath>: see core/simd.h

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Traps for no operands. The caller refuses a divisor of 0 (has_zero), so what is returned for it
/// is arbitrary. The lowest number by -1 wraps to itself.
template <TypedOp kOp, typename T>
SLUICE_CPU_INLINE T quotient(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a / b;
  } else if constexpr (sizeof(T) < 8) {  // exact in double, which is divided in vectors
    // A quotient that is no integer is at least 1 / b below the next one. The nearest double is off
    // by less than 2^-20 / b.
    const double whole = static_cast<double>(a) / static_cast<double>(b == 0 ? T{1} : b);
    if constexpr (sizeof(T) == 4 && kIsSigned<T>) {
      return static_cast<T>(whole > 2147483647.0 ? -2147483648.0 : whole);
    } else {
      return static_cast<T>(static_cast<std::int64_t>(whole));
    }
  } else {
    if (b == 0) return 0;
    if constexpr (kIsSigned<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
      // A division of 32 bits takes fewer cycles. Neither number is negative, and both fit.
      const bool is_short = ((a | b) >> 31) == 0;
      if (is_short) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
    }
    return a / b;
  }
}

/// a - a / b * b, in numbers without sign, which wrap. kMod moves a remainder whose sign is not
/// that of b by one b.
template <TypedOp kOp, typename T>
SLUICE_CPU_INLINE T rest(T a, T b) {
  using U = UnsignedOf<T>;
  const T r = static_cast<T>(
      static_cast<U>(a) - static_cast<U>(static_cast<U>(quotient<kOp>(a, b)) * static_cast<U>(b)));
  if constexpr (kOp == TypedOp::kRemainder || !kIsSigned<T>) return r;
  return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}

SLUICE_CPU_INLINE double power(double base, double exponent) {
  if (exponent == 2) return base * base;
  if (exponent == 3) return base * base * base;
  return pow(base, exponent);
}

/// By repeated squaring.
template <typename T>
SLUICE_CPU_INLINE T power(T base, T exponent) {
  using U = WrapOf<T>;
  if (exponent == 2) return static_cast<T>(static_cast<U>(base) * static_cast<U>(base));
  if constexpr (kIsSigned<T>) {
    if (exponent < 0) {  // 1 / base is a whole number for 1 and -1 alone
      if (base == 1) return base;
      if (base == -1) return exponent % 2 == 0 ? T{1} : base;
      return 0;
    }
  }
  U result = 1;
  auto square = static_cast<U>(base);
  for (auto left = static_cast<UnsignedOf<T>>(exponent); left > 0; left = left / 2) {
    if (left % 2 != 0) result = static_cast<U>(result * square);
    square = static_cast<U>(square * square);
  }
  return static_cast<T>(result);
}

/// As fmod has it. A quotient of floats below 2^28 that is no integer is farther from the next
/// integer than double rounds, so cutting the rounded quotient gives the right integer. The product
/// of that integer and b, and the difference, are exact in double.
SLUICE_CPU_INLINE float rest_of_floats(float a, float b) {
  const double x = static_cast<double>(a);
  const double y = static_cast<double>(b);
  const double quotient = x / y;
  const bool is_finite = __builtin_fabs(y) <= static_cast<double>(kMostFinite);
  if (!(__builtin_fabs(quotient) < 0x1p28) || !is_finite) return __builtin_fmodf(a, b);
  const double whole = static_cast<double>(static_cast<std::int32_t>(quotient));
  return __builtin_copysignf(static_cast<float>(x - whole * y), a);
}

/// C++ leaves shifts by all bits or more undefined. Here every bit is shifted out: the result is 0,
/// or all signs.
template <TypedOp kOp, typename T>
SLUICE_CPU_INLINE T shifted(T a, T b) {
  constexpr int kBits = static_cast<int>(sizeof(T)) * 8;
  bool is_out = b >= kBits;
  if constexpr (kIsSigned<T>) is_out = is_out || b < 0;
  const auto bits = static_cast<int>(b) & (kBits - 1);
  if constexpr (kOp == TypedOp::kShiftLeft) {
    return is_out ? T{0} : static_cast<T>(static_cast<UnsignedOf<T>>(a) << bits);
  } else {
    T filled = 0;
    if constexpr (kIsSigned<T>) filled = static_cast<T>(a < 0 ? -1 : 0);
    return is_out ? filled : static_cast<T>(a >> bits);
  }
}

template <TypedOp kOp, typename T>
SLUICE_CPU_INLINE T extreme(T a, T b) {
  const T better = kOp == TypedOp::kMax ? (a < b ? b : a) : (b < a ? b : a);
  if constexpr (!kIsFloat<T>) return better;
  return a != a ? a : b != b ? b : better;
}

template <typename T>
SLUICE_CPU_INLINE T sign_of(T a) {
  if constexpr (kIsFloat<T>) {
    // By its bits: a denormal number is neither above nor below zero while a list runs.
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t> bits = 0;
    __builtin_memcpy(&bits, &a, sizeof bits);
    const bool is_zero = (bits << 1) == 0;
    return is_zero || a != a ? a : static_cast<T>(__builtin_copysign(1.0, static_cast<double>(a)));
  } else if constexpr (kIsSigned<T>) {
    return a > 0 ? T{1} : a < 0 ? static_cast<T>(-1) : a;
  } else {
    return a > 0 ? T{1} : T{0};
  }
}

/// In unsigned numbers, where integers wrap.
template <TypedOp kOp, typename T>
SLUICE_CPU_INLINE T wrapped(T a, T b) {
  using U = WrapOf<T>;
  const U x = static_cast<U>(a);
  const U y = static_cast<U>(b);
  if constexpr (kOp == TypedOp::kAdd) return static_cast<T>(x + y);
  if constexpr (kOp == TypedOp::kSub) return static_cast<T>(x - y);
  if constexpr (kOp == TypedOp::kMul) return static_cast<T>(x * y);
  if constexpr (kOp == TypedOp::kNeg) return kIsFloat<T> ? -a : static_cast<T>(U{0} - x);
  if constexpr (kIsFloat<T>) return static_cast<T>(__builtin_fabs(static_cast<double>(a)));
  if constexpr (kIsSigned<T>) return a < 0 ? static_cast<T>(U{0} - x) : a;
  return a;
}

/// To an integer, as the name of the operation says.
template <TypedOp kOp>
SLUICE_CPU_INLINE double whole(double a) {
  if constexpr (kOp == TypedOp::kFloor) return __builtin_floor(a);
  if constexpr (kOp == TypedOp::kCeil) return __builtin_ceil(a);
  return __builtin_nearbyint(a);
}

/// Whether 16 bits are a NaN or an infinity, of f16 or bf16.
template <TypedOp kOp>
SLUICE_CPU_INLINE std::uint8_t test_bits(std::uint16_t a) {
  constexpr bool kIsF16 = kOp == TypedOp::kIsF16Nan || kOp == TypedOp::kIsF16Infinite;
  constexpr std::uint16_t kInfinity = kIsF16 ? 0x7c00 : 0x7f80;
  const auto size = static_cast<std::uint16_t>(a & 0x7fff);
  if constexpr (kOp == TypedOp::kIsF16Nan || kOp == TypedOp::kIsBf16Nan) {
    return static_cast<std::uint8_t>(size > kInfinity);
  } else {
    return static_cast<std::uint8_t>(size == kInfinity);
  }
}

/// The second operand of operations on `a` alone is 1, and unused.
template <TypedOp kOp, typename T>
SLUICE_CPU_INLINE auto apply(T a, T b) {
  using Flag = std::uint8_t;
  if constexpr (kOp == TypedOp::kDiv) return quotient<kOp>(a, b);
  if constexpr (kOp == TypedOp::kRemainder && kIsFloat<T>) {
    if constexpr (sizeof(T) == 4) return rest_of_floats(a, b);
    return static_cast<T>(__builtin_fmod(static_cast<double>(a), static_cast<double>(b)));
  } else if constexpr (kOp == TypedOp::kMod || kOp == TypedOp::kRemainder) {
    return rest<kOp>(a, b);
  }
  if constexpr (kOp == TypedOp::kPower) return power(a, b);
  if constexpr (kOp == TypedOp::kMin || kOp == TypedOp::kMax) return extreme<kOp>(a, b);
  if constexpr (kOp == TypedOp::kAtLeast) return a < b ? b : a;
  if constexpr (kOp == TypedOp::kAtMost) return b < a ? b : a;
  if constexpr (kOp == TypedOp::kShiftLeft || kOp == TypedOp::kShiftRight)
    return shifted<kOp>(a, b);
  if constexpr (kOp == TypedOp::kEqual) return static_cast<Flag>(a == b);
  if constexpr (kOp == TypedOp::kLess) return static_cast<Flag>(a < b);
  if constexpr (kOp == TypedOp::kLessOrEqual) return static_cast<Flag>(a <= b);
  if constexpr (kOp == TypedOp::kBoth) return static_cast<Flag>((a != 0) & (b != 0));
  if constexpr (kOp == TypedOp::kEither) return static_cast<Flag>((a | b) != 0);
  if constexpr (kOp == TypedOp::kUnlike) return static_cast<Flag>((a != 0) != (b != 0));
  if constexpr (kOp == TypedOp::kAlike) return static_cast<Flag>((a != 0) == (b != 0));
  if constexpr (kOp == TypedOp::kIsZero) return static_cast<Flag>(a == 0);
  if constexpr (kOp == TypedOp::kIsNan) return static_cast<Flag>(a != a);
  if constexpr (kOp == TypedOp::kIsInfinite) {
    constexpr T kInfinity = static_cast<T>(__builtin_inff());
    return static_cast<Flag>((a == kInfinity) | (a == -kInfinity));
  }
  if constexpr (kOp == TypedOp::kSign) return sign_of(a);
  if constexpr (kOp == TypedOp::kRelu) return a < 0 ? T{0} : a;
  if constexpr (kOp >= TypedOp::kFloor && kOp <= TypedOp::kRound) return whole<kOp>(a);
  if constexpr (kOp >= TypedOp::kIsF16Nan && kOp <= TypedOp::kIsBf16Infinite) {
    return test_bits<kOp>(a);
  }
  if constexpr (kOp == TypedOp::kAnd) return static_cast<T>(a & b);
  if constexpr (kOp == TypedOp::kOr) return static_cast<T>(a | b);
  if constexpr (kOp == TypedOp::kXor) return static_cast<T>(a ^ b);
  if constexpr (kOp == TypedOp::kInvert) return static_cast<T>(~a);
  if constexpr (kOp == TypedOp::kAdd || kOp == TypedOp::kSub || kOp == TypedOp::kMul ||
                kOp == TypedOp::kNeg || kOp == TypedOp::kAbs) {
    return wrapped<kOp>(a, b);
  }
}

/// A loop per combination of steps, so that each has strides that the compiler knows. What is
/// written may lie where the same elements are read.
template <TypedOp kOp, typename T>
void loop(const void* a_data, std::int64_t a_step, const void* b_data, std::int64_t b_step,
          void* out_data, std::int64_t count) {
  if constexpr (kOp == TypedOp::kPower && !kIsFloat<T>) {
    if (b_step == 0 && *static_cast<const T*>(b_data) == 2) {
      return loop<TypedOp::kMul, T>(a_data, a_step, a_data, a_step, out_data, count);
    }
  }
  using Out = decltype(apply<kOp>(T{}, T{}));
  const auto* a = static_cast<const T*>(a_data);
  const auto* b = static_cast<const T*>(b_data);
  auto* out = static_cast<Out*>(out_data);
  constexpr bool kIsUnary = kOp >= TypedOp::kAbs;
  if (a_step == 0 && (kIsUnary || b_step == 0)) {
    if (count == 0) return;
    const Out value = apply<kOp>(*a, kIsUnary ? T{1} : *b);
    for (std::int64_t i = 0; i < count; ++i) out[i] = value;
  } else if (kIsUnary) {
    SLUICE_CPU_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = apply<kOp>(a[i], T{1});
  } else if (b_step == 0) {
    const T y = *b;
    SLUICE_CPU_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = apply<kOp>(a[i], y);
  } else if (a_step == 0) {
    const T x = *a;
    SLUICE_CPU_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = apply<kOp>(x, b[i]);
  } else {
    SLUICE_CPU_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = apply<kOp>(a[i], b[i]);
  }
}

/// kMod has no form for floats. f32 has kRemainder, bounds and comparisons alone.
template <TypedOp kOp>
TypedLoop of_number(Number type) {
  switch (type) {
    case Number::kU8: return loop<kOp, std::uint8_t>;
    case Number::kI8: return loop<kOp, std::int8_t>;
    case Number::kU16: return loop<kOp, std::uint16_t>;
    case Number::kI16: return loop<kOp, std::int16_t>;
    case Number::kU32: return loop<kOp, std::uint32_t>;
    case Number::kI32: return loop<kOp, std::int32_t>;
    case Number::kU64: return loop<kOp, std::uint64_t>;
    case Number::kI64: return loop<kOp, std::int64_t>;
    case Number::kF64:
    case Number::kF32: break;
  }
  if constexpr (kOp != TypedOp::kMod) {
    if (type == Number::kF64) return loop<kOp, double>;
  }
  if constexpr (kOp == TypedOp::kMin || kOp == TypedOp::kMax || kOp == TypedOp::kAtMost ||
                kOp == TypedOp::kAtLeast || kOp == TypedOp::kRemainder || kOp == TypedOp::kLess ||
                kOp == TypedOp::kLessOrEqual) {
    if (type == Number::kF32) return loop<kOp, float>;
  }
  return nullptr;
}

/// The loop of an operation whose bits do not depend on the sign.
template <TypedOp kOp>
TypedLoop of_width(Number type) {
  switch (type) {
    case Number::kU8:
    case Number::kI8: return loop<kOp, std::uint8_t>;
    case Number::kU16:
    case Number::kI16: return loop<kOp, std::uint16_t>;
    case Number::kU32:
    case Number::kI32: return loop<kOp, std::uint32_t>;
    case Number::kU64:
    case Number::kI64: return loop<kOp, std::uint64_t>;
    default: return nullptr;
  }
}

template <TypedOp kOp>
TypedLoop of_width_or_double(Number type) {
  if (type == Number::kF64) return loop<kOp, double>;
  if constexpr (kOp == TypedOp::kAdd || kOp == TypedOp::kMul || kOp == TypedOp::kEqual) {
    if (type == Number::kF32) return loop<kOp, float>;
  }
  return of_width<kOp>(type);
}

/// A shift to the right keeps the sign, so types with a sign need code of their own.
template <TypedOp kOp>
TypedLoop of_integer(Number type) {
  if (type == Number::kF64) return nullptr;
  switch (type) {
    case Number::kI8: return loop<kOp, std::int8_t>;
    case Number::kI16: return loop<kOp, std::int16_t>;
    case Number::kI32: return loop<kOp, std::int32_t>;
    case Number::kI64: return loop<kOp, std::int64_t>;
    default: return of_width<kOp>(type);
  }
}

template <TypedOp kOp>
TypedLoop of_double(Number type) {
  return type == Number::kF64 ? loop<kOp, double> : nullptr;
}

template <TypedOp kOp>
TypedLoop of_two_bytes(Number type) {
  return type == Number::kU16 ? loop<kOp, std::uint16_t> : nullptr;
}

template <TypedOp kOp>
TypedLoop of_byte(Number type) {
  return type == Number::kU8 ? loop<kOp, std::uint8_t> : nullptr;
}

template <TypedOp kOp>
TypedLoop of_float(Number type) {
  if (type == Number::kF64) return loop<kOp, double>;
  return type == Number::kF32 ? loop<kOp, float> : nullptr;
}

template <typename T>
bool any_zero(const void* data, std::int64_t count) {
  const auto* values = static_cast<const T*>(data);
  int zeros = 0;
  for (std::int64_t i = 0; i < count; ++i) zeros |= values[i] == 0 ? 1 : 0;
  return zeros != 0;
}

/// As `loop`: one loop per combination of steps. The last one reads both sides in every element,
/// which needs no branch.
template <typename T>
void choose(const std::uint8_t* where, const void* a_data, const void* b_data,
            const std::int64_t* steps, void* out_data, std::int64_t count) {
  const auto* a = static_cast<const T*>(a_data);
  const auto* b = static_cast<const T*>(b_data);
  auto* out = static_cast<T*>(out_data);
  if (steps[0] == 0) {
    const T* from = *where != 0 ? a : b;
    const std::int64_t step = *where != 0 ? steps[1] : steps[2];
    for (std::int64_t i = 0; i < count; ++i) out[i] = from[i * step];
  } else if (steps[1] == 0 && steps[2] == 0) {
    const T x = *a;
    const T y = *b;
    for (std::int64_t i = 0; i < count; ++i) out[i] = where[i] != 0 ? x : y;
  } else if (steps[1] == 0) {
    const T x = *a;
    for (std::int64_t i = 0; i < count; ++i) out[i] = where[i] != 0 ? x : b[i];
  } else if (steps[2] == 0) {
    const T y = *b;
    for (std::int64_t i = 0; i < count; ++i) out[i] = where[i] != 0 ? a[i] : y;
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const T x = a[i];
      const T y = b[i];
      out[i] = where[i] != 0 ? x : y;
    }
  }
}

}  // namespace

TypedLoop typed_loop(TypedOp op, Number type) {
  switch (op) {
    case TypedOp::kAdd: return of_width_or_double<TypedOp::kAdd>(type);
    case TypedOp::kSub: return of_width_or_double<TypedOp::kSub>(type);
    case TypedOp::kMul: return of_width_or_double<TypedOp::kMul>(type);
    case TypedOp::kDiv: return of_number<TypedOp::kDiv>(type);
    case TypedOp::kMod: return of_number<TypedOp::kMod>(type);
    case TypedOp::kRemainder: return of_number<TypedOp::kRemainder>(type);
    case TypedOp::kPower: return of_number<TypedOp::kPower>(type);
    case TypedOp::kMin: return of_number<TypedOp::kMin>(type);
    case TypedOp::kMax: return of_number<TypedOp::kMax>(type);
    case TypedOp::kAtMost: return of_number<TypedOp::kAtMost>(type);
    case TypedOp::kAtLeast: return of_number<TypedOp::kAtLeast>(type);
    case TypedOp::kAnd: return of_width<TypedOp::kAnd>(type);
    case TypedOp::kOr: return of_width<TypedOp::kOr>(type);
    case TypedOp::kXor: return of_width<TypedOp::kXor>(type);
    case TypedOp::kShiftLeft: return of_width<TypedOp::kShiftLeft>(type);
    case TypedOp::kShiftRight: return of_integer<TypedOp::kShiftRight>(type);
    case TypedOp::kEqual: return of_width_or_double<TypedOp::kEqual>(type);
    case TypedOp::kLess: return of_number<TypedOp::kLess>(type);
    case TypedOp::kLessOrEqual: return of_number<TypedOp::kLessOrEqual>(type);
    case TypedOp::kBoth: return of_byte<TypedOp::kBoth>(type);
    case TypedOp::kEither: return of_byte<TypedOp::kEither>(type);
    case TypedOp::kUnlike: return of_byte<TypedOp::kUnlike>(type);
    case TypedOp::kAlike: return of_byte<TypedOp::kAlike>(type);
    case TypedOp::kAbs: return of_number<TypedOp::kAbs>(type);
    case TypedOp::kNeg: return of_width_or_double<TypedOp::kNeg>(type);
    case TypedOp::kSign: return of_number<TypedOp::kSign>(type);
    case TypedOp::kRelu: return of_number<TypedOp::kRelu>(type);
    case TypedOp::kFloor: return of_double<TypedOp::kFloor>(type);
    case TypedOp::kCeil: return of_double<TypedOp::kCeil>(type);
    case TypedOp::kRound: return of_double<TypedOp::kRound>(type);
    case TypedOp::kInvert: return of_width<TypedOp::kInvert>(type);
    case TypedOp::kIsZero: return of_byte<TypedOp::kIsZero>(type);
    case TypedOp::kIsNan: return of_float<TypedOp::kIsNan>(type);
    case TypedOp::kIsInfinite: return of_float<TypedOp::kIsInfinite>(type);
    case TypedOp::kIsF16Nan: return of_two_bytes<TypedOp::kIsF16Nan>(type);
    case TypedOp::kIsF16Infinite: return of_two_bytes<TypedOp::kIsF16Infinite>(type);
    case TypedOp::kIsBf16Nan: return of_two_bytes<TypedOp::kIsBf16Nan>(type);
    case TypedOp::kIsBf16Infinite: return of_two_bytes<TypedOp::kIsBf16Infinite>(type);
    default: return type == Number::kF64 ? double_function(op) : nullptr;
  }
}

bool has_zero(const void* data, std::int64_t element_bytes, std::int64_t count) {
  switch (element_bytes) {
    case 1: return any_zero<std::uint8_t>(data, count);
    case 2: return any_zero<std::uint16_t>(data, count);
    case 4: return any_zero<std::uint32_t>(data, count);
    default: return any_zero<std::uint64_t>(data, count);
  }
}

WhereLoop where_loop(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return choose<std::uint8_t>;
    case 2: return choose<std::uint16_t>;
    case 4: return choose<std::uint32_t>;
    case 8: return choose<std::uint64_t>;
    default: return nullptr;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
