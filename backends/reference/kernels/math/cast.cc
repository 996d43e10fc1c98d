// Changing the element type: every element becomes a wide number, then one of the new type.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <variant>

#include "reference/arithmetic.h"
#include "reference/elementwise.h"
#include "reference/families.h"
#include "reference/small_elements.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

/// Exact for every element type. Strings are read as numbers before, unless they stay strings.
using Wide =
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

/// "3.14", "1e-5", "+1000", "NaN", "-INF" as a number of type N, the whole of it.
template <typename N>
bool parse_number(std::string_view text, N* value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end && !text.empty();
}

/// A double cannot represent all 64-bit integers, so 64-bit types parse integer text as integers.
template <typename N>
Status read_text(const Call& call, std::vector<N>* values) {
  for (const Text& element : call.input_elements<Text>(0)) {
    const std::string_view text = element;
    N value = 0;
    double number = 0;
    if (!parse_number(text, &value)) {
      if (!parse_number(text, &number)) {
        return refuse(call.op(), "\"" + std::string(text) + "\" is no number");
      }
      value = convert<N>(number);
    }
    values->push_back(value);
  }
  return plugin::ok();
}

Status read_text(const Call& call, Wide* wide) {
  switch (call.output(0).element_type) {
    case plugin::kI64: return read_text(call, &wide->emplace<std::vector<std::int64_t>>());
    case plugin::kU64: return read_text(call, &wide->emplace<std::vector<std::uint64_t>>());
    default: return read_text(call, &wide->emplace<std::vector<double>>());
  }
}

Status read_wide(const Call& call, Wide* wide) {
  const sluice_tensor& tensor = call.input(0);
  if (tensor.element_type == plugin::kString) return read_text(call, wide);
  if (is_small(tensor.element_type)) {
    *wide = read_small(tensor);
    return plugin::ok();
  }
  return dispatch(kNumbersAndBool, tensor.element_type, [&]<typename T>() {
    using From = Compute<T>;
    using To = std::conditional_t<
        std::is_floating_point_v<From>, double,
        std::conditional_t<std::is_same_v<From, std::uint64_t>, std::uint64_t, std::int64_t>>;
    const auto elements = plugin::elements<const T>(tensor);
    auto& values = wide->emplace<std::vector<To>>();
    for (const T& element : elements) values.push_back(static_cast<To>(static_cast<From>(element)));
    return plugin::ok();
  });
}

/// The low bits of the number, cut to an integer towards zero.
template <typename W>
std::uint8_t low_byte(W value) {
  return static_cast<std::uint8_t>(convert<std::int64_t>(value));
}

/// Cut to a float whose last bit tells whether anything was cut: rounding that once more gives what
/// rounding the double at once does.
float cut_to_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  const bool is_beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  const float cut = is_beyond ? std::nextafter(nearest, 0.0F) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(cut) | 1U);
}

/// The type from which an element of at most 16 bits is rounded.
template <typename W>
float rounding_source(W value) {
  if constexpr (std::is_same_v<W, double>) return cut_to_float(value);
  return static_cast<float>(value);
}

template <typename W>
void write_bits(const Call& call, const std::vector<W>& values) {
  const sluice_element_type type = call.output(0).element_type;
  const bool saturates = call.attributes().get_int("saturate", 1) != 0;
  const std::string_view rounding = call.attributes().get_text("round_mode", "up");
  const auto format = SmallFloat::of(type);
  std::vector<std::uint8_t> bits(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = rounding_source(values[i]);
    bits[i] = format                    ? format->encode(value, saturates)
              : type == plugin::kF8E8M0 ? encode_e8m0(value, saturates, rounding)
                                        : low_byte(values[i]);
  }
  write_small(call.output(0), bits);
}

/// Formats the value with the fewest digits that identify it among the values of type N. Floats
/// have an exponent where C's "%.8g" writes one, as in other runtimes.
template <typename N>
std::string text_of(N value) {
  std::array<char, 64> digits;
  if constexpr (std::is_floating_point_v<N>) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
    constexpr int kEnd = 8;
    auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::scientific);
    const char* sign = std::find(digits.begin(), end.ptr, 'e') + 1;
    int exponent = 0;
    std::from_chars(*sign == '+' ? sign + 1 : sign, end.ptr, exponent);
    if (exponent >= -4 && exponent < kEnd) {
      end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed);
    }
    return {digits.begin(), end.ptr};
  } else {
    return {digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr};
  }
}

template <typename W>
void write_text(const Call& call, const std::vector<W>& values) {
  const auto y = call.output_elements<Text>(0);
  const bool is_wide = call.input(0).element_type == plugin::kF64;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if constexpr (std::is_same_v<W, double>) {
      y[i] = call.keep(is_wide ? text_of(values[i]) : text_of(static_cast<float>(values[i])));
    } else {
      y[i] = call.keep(text_of(values[i]));
    }
  }
}

/// A float as an integer, towards zero. 32 and 64 bits saturate as `convert` does; of fewer bits,
/// or without a sign, the low bits of the 64-bit integer are kept: negative numbers wrap.
template <typename To, typename W>
To cast_element(W value) {
  constexpr bool kWraps = std::is_integral_v<To> && !std::is_same_v<To, bool> &&
                          (std::is_unsigned_v<To> || sizeof(To) < 4);
  if constexpr (kWraps && std::is_floating_point_v<W>) {
    if (sizeof(To) == 8 && value > 0) return convert<To>(value);
    return static_cast<To>(convert<std::int64_t>(value));
  } else {
    return convert<To>(value);
  }
}

template <typename W>
Status write_wide(const Call& call, const std::vector<W>& values) {
  const sluice_tensor& tensor = call.output(0);
  if (tensor.element_type == plugin::kString) {
    write_text(call, values);
    return plugin::ok();
  }
  if (is_small(tensor.element_type)) {
    write_bits(call, values);
    return plugin::ok();
  }
  return dispatch(kNumbersAndBool, tensor.element_type, [&]<typename T>() {
    const auto y = plugin::elements<T>(tensor);
    constexpr bool kIsShort = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if constexpr (kIsShort) {
        y[i] = rounding_source(values[i]);
      } else {
        y[i] = cast_element<Compute<T>>(values[i]);
      }
    }
    return plugin::ok();
  });
}

Status run_cast(const Call& call) {
  Wide wide;
  Status status = expect_dims(call, 0, plugin::dims_of(call.input(0)));
  if (status.is_ok() && call.input(0).element_type == call.output(0).element_type) {
    Mover(call.input(0), call.output(0)).copy(0, 0, plugin::num_elements(call.input(0)));
    return status;
  }
  if (status.is_ok()) status = read_wide(call, &wide);
  if (!status.is_ok()) return status;
  return std::visit([&](const auto& values) { return write_wide(call, values); }, wide);
}

Status check_cast(const sluice_op& op) {
  const sluice_element_type from = op.inputs[0].tensor.element_type;
  const sluice_element_type to = op.outputs[0].tensor.element_type;
  const auto is_known = [](sluice_element_type type) {
    return contains(kNumbersAndBool + kTexts, type) || is_small(type);
  };
  if (!is_known(from)) return unsupported_type(op, from);
  return is_known(to) ? plugin::ok() : unsupported_type(op, to);
}

/// Target of a step in a fused body, whose elements are whole bytes and need no room for text.
sluice_element_type target_type(const sluice_op& op) {
  const auto type = static_cast<sluice_element_type>(Attributes(op).get_int("to"));
  return plugin::element_bits(type) % 8 == 0 && type != plugin::kString ? type : plugin::kAbsent;
}

Status run_bit_cast(const Call& call) {
  if (call.input(0).size_bytes != call.output(0).size_bytes) {
    return refuse(call.op(), "input and output differ in size");
  }
  if (call.output(0).size_bytes > 0) {
    std::memmove(call.output(0).data, call.input(0).data,
                 static_cast<std::size_t>(call.output(0).size_bytes));
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> cast_kernels() {
  return {
      {.kind = "BitCast", .run = run_bit_cast},
      {.kind = "Cast", .run = run_cast, .check = check_cast, .result_type = target_type},
      {.kind = "CastLike", .run = run_cast, .check = check_cast, .num_required_inputs = 2},
  };
}

}  // namespace sluice::reference
