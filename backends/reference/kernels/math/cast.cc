// Changing the element type: every element becomes a wide number, then one of the new type.
#include <algorithm>
#include <charconv>
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

/// Exact for every element type but strings.
using Wide =
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

/// Text as C's strtod reads it: "3.14", "1e-5", "NaN", "-INF".
Status read_text(const Call& call, std::vector<double>* values) {
  const sluice_tensor& tensor = call.input(0);
  for (const sluice_text& element : plugin::elements<const sluice_text>(tensor)) {
    const std::string text(plugin::view(element));
    char* end = nullptr;
    values->push_back(std::strtod(text.c_str(), &end));
    if (end == text.c_str() || *end != '\0') {
      return refuse(call.op(), "\"" + text + "\" is no number");
    }
  }
  return plugin::ok();
}

Status read_wide(const Call& call, Wide* wide) {
  const sluice_tensor& tensor = call.input(0);
  if (tensor.element_type == plugin::kString) return read_text(call, &wide->emplace<0>());
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

/// Of the integer towards zero; whoever packs it takes the low bits.
template <typename W>
std::uint8_t low_byte(W value) {
  return static_cast<std::uint8_t>(convert<std::int64_t>(value));
}

template <typename W>
void write_bits(const Call& call, const std::vector<W>& values) {
  const sluice_element_type type = call.output(0).element_type;
  const bool saturates = call.attributes().get_int("saturate", 1) != 0;
  const std::string_view rounding = call.attributes().get_text("round_mode", "up");
  const auto format = SmallFloat::of(type);
  std::vector<std::uint8_t> bits(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    bits[i] = format                    ? format->encode(value, saturates)
              : type == plugin::kF8E8M0 ? encode_e8m0(value, saturates, rounding)
                                        : low_byte(values[i]);
  }
  write_small(call.output(0), bits);
}

template <typename W>
Status write_wide(const Call& call, const std::vector<W>& values) {
  const sluice_tensor& tensor = call.output(0);
  if (is_small(tensor.element_type)) {
    write_bits(call, values);
    return plugin::ok();
  }
  return dispatch(kNumbersAndBool, tensor.element_type, [&]<typename T>() {
    const auto y = plugin::elements<T>(tensor);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = convert<Compute<T>>(values[i]);
    return plugin::ok();
  });
}

Status run_cast(const Call& call) {
  Wide wide;
  Status status = expect_dims(call, 0, plugin::dims_of(call.input(0)));
  if (status.is_ok()) status = read_wide(call, &wide);
  if (!status.is_ok()) return status;
  return std::visit([&](const auto& values) { return write_wide(call, values); }, wide);
}

Status check_cast(const sluice_op& op) {
  const sluice_element_type from = op.inputs[0].tensor.element_type;
  const sluice_element_type to = op.outputs[0].tensor.element_type;
  const auto is_number = [](sluice_element_type type) {
    return contains(kNumbersAndBool, type) || is_small(type);
  };
  if (!is_number(from) && from != plugin::kString) return unsupported_type(op, from);
  return is_number(to) ? plugin::ok() : unsupported_type(op, to);
}

/// Of a step in a fused body, whose elements are whole bytes.
sluice_element_type target_type(const sluice_op& op) {
  const auto type = static_cast<sluice_element_type>(Attributes(op).get_int("to"));
  return plugin::element_bits(type) % 8 == 0 ? type : plugin::kAbsent;
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
