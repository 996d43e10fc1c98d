// Two inputs, broadcast against each other: arithmetic, bits, logic, comparison.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/arithmetic.h"
#include "reference/elementwise.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

/// Integers must not be divided by zero.
template <typename T>
Status check_divisors(const Call& call) {
  if constexpr (std::is_integral_v<T>) {
    const auto divisors = call.input_elements<T>(1);
    if (std::ranges::find(divisors, T{0}) != divisors.end()) {
      return refuse(call.op(), "integer division by zero");
    }
  }
  return plugin::ok();
}

Status run_div(const Call& call) {
  return dispatch(kNumbers, call.input(0).element_type, [&]<typename T>() {
    if (Status status = check_divisors<T>(call); !status.is_ok()) return status;
    map_binary<T, T>(call, [](auto a, auto b) { return divide(a, b); });
    return plugin::ok();
  });
}

Status run_mod(const Call& call) {
  const bool is_fmod = call.attributes().get_int("fmod") != 0;
  return dispatch(kNumbers, call.input(0).element_type, [&]<typename T>() {
    if (Status status = check_divisors<T>(call); !status.is_ok()) return status;
    map_binary<T, T>(call, [is_fmod](auto a, auto b) {
      return is_fmod ? remainder_like_dividend(a, b) : remainder_like_divisor(a, b);
    });
    return plugin::ok();
  });
}

template <typename T>
T shift(T x, T count, bool is_left) {
  constexpr int kBits = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  const bool is_out = is_negative(count) || count >= T{kBits};
  // A shift by all bits or more is undefined in C++; the result is what shifting on would give.
  if (is_out) return !is_left && is_negative(x) ? T(-1) : T{0};
  const int bits = static_cast<int>(count);
  if (!is_left) return static_cast<T>(x >> bits);
  return static_cast<T>(static_cast<std::uint64_t>(x) << bits);
}

Status run_bit_shift(const Call& call) {
  const bool is_left = call.attributes().get_text("direction") == "LEFT";
  return dispatch(kInts, call.input(0).element_type, [&]<typename T>() {
    map_binary<T, T>(call, [is_left](auto x, auto count) { return shift(x, count, is_left); });
    return plugin::ok();
  });
}

Status check_bit_shift(const sluice_op& op) {
  const std::string_view direction = Attributes(op).get_text("direction");
  if (direction != "LEFT" && direction != "RIGHT") {
    return refuse(op, "direction must be LEFT or RIGHT");
  }
  return check_elementwise<kInts>(op);
}

/// By repeated squaring; a negative exponent leaves 1 / base cut to an integer.
template <typename T>
T integer_power(T base, std::int64_t exponent) {
  if (exponent < 0) {
    // 1 / base is a whole number for 1 and -1 alone.
    if (base == T{1}) return base;
    if (base == T(-1)) return exponent % 2 == 0 ? T{1} : base;
    return T{0};
  }
  T result = 1;
  for (; exponent > 0; exponent /= 2, base = multiply(base, base)) {
    if (exponent % 2 != 0) result = multiply(result, base);
  }
  return result;
}

template <typename T, typename E>
Compute<T> power(Compute<T> base, Compute<E> exponent) {
  if constexpr (std::is_integral_v<Compute<T>> && std::is_integral_v<Compute<E>>) {
    return integer_power(base, static_cast<std::int64_t>(exponent));
  } else {
    return convert<Compute<T>>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
}

Status run_pow(const Call& call) {
  const std::array sources = {plugin::dims_of(call.input(0)), plugin::dims_of(call.input(1))};
  return dispatch(kNumbers, call.input(0).element_type, [&]<typename T>() {
    return dispatch(kNumbers, call.input(1).element_type, [&]<typename E>() {
      const auto base = call.input_elements<T>(0);
      const auto exponent = call.input_elements<E>(1);
      const auto y = call.output_elements<T>(0);
      for_each_broadcast(plugin::dims_of(call.output(0)), sources, [&](auto i, const auto& at) {
        y[static_cast<std::size_t>(i)] = power<T, E>(base[static_cast<std::size_t>(at[0])],
                                                     exponent[static_cast<std::size_t>(at[1])]);
      });
      return plugin::ok();
    });
  });
}

Status check_pow(const sluice_op& op) {
  Status status = check_type(op, 0, kNumbers);
  if (status.is_ok()) status = check_type(op, 1, kNumbers);
  return status.is_ok() ? check_broadcast(op) : status;
}

}  // namespace

std::vector<KernelEntry> elementwise_binary_kernels() {
  return {
      binary<kNumbers>("Add", [](auto a, auto b) { return add(a, b); }),
      binary<kBools>("And", [](bool a, bool b) { return a && b; }),
      {.kind = "BitShift",
       .run = run_bit_shift,
       .check = check_bit_shift,
       .result_type = type_of_first_input,
       .num_required_inputs = 2},
      binary<kInts>("BitwiseAnd", [](auto a, auto b) { return a & b; }),
      binary<kInts>("BitwiseOr", [](auto a, auto b) { return a | b; }),
      binary<kInts>("BitwiseXor", [](auto a, auto b) { return a ^ b; }),
      {.kind = "Div",
       .run = run_div,
       .check = check_elementwise<kNumbers>,
       .result_type = type_of_first_input,
       .num_required_inputs = 2},
      comparison<kNumbersAndBool + kTexts>("Equal", [](auto a, auto b) { return a == b; }),
      comparison<kNumbers>("Greater", [](auto a, auto b) { return a > b; }),
      comparison<kNumbers>("GreaterOrEqual", [](auto a, auto b) { return a >= b; }),
      comparison<kNumbers>("Less", [](auto a, auto b) { return a < b; }),
      comparison<kNumbers>("LessOrEqual", [](auto a, auto b) { return a <= b; }),
      {.kind = "Mod",
       .run = run_mod,
       .check = check_elementwise<kNumbers>,
       .result_type = type_of_first_input,
       .num_required_inputs = 2},
      binary<kNumbers>("Mul", [](auto a, auto b) { return multiply(a, b); }),
      binary<kBools>("Or", [](bool a, bool b) { return a || b; }),
      binary<kNumbers>("PRelu",
                       [](auto x, auto slope) { return is_negative(x) ? multiply(slope, x) : x; }),
      {.kind = "Pow", .run = run_pow, .check = check_pow, .result_type = type_of_first_input},
      binary<kNumbers>("Sub", [](auto a, auto b) { return subtract(a, b); }),
      binary<kBools>("Xor", [](bool a, bool b) { return a != b; }),
  };
}

}  // namespace sluice::reference
