// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear; and Sluice's ByteTable.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/families.h"
#include "reference/kernels/support.h"
#include "reference/small_elements.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

constexpr Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t> kWholeBytes;

/// Scales and zero points, and their mapping to elements: one for all elements, one per index of an
/// axis, or one per block along the axis.
struct Scales {
  std::vector<double> scale, zero;
  std::int64_t axis_size = 1, inner = 1, block = 0, blocks = 1;

  std::size_t at(std::size_t element) const {
    if (scale.size() == 1) return 0;
    const std::int64_t flat = static_cast<std::int64_t>(element);
    const std::int64_t along = flat / inner % axis_size;
    if (block == 0) return index(along);
    // The scales have the input's shape, with `blocks` along the axis.
    return index((flat / (inner * axis_size) * blocks + along / block) * inner + flat % inner);
  }
};

Status read_scales(const Call& call, Scales* scales) {
  const Dims x = input_dims(call, 0);
  scales->scale = read_doubles(call.input(1));
  scales->zero.assign(scales->scale.size(), 0.0);
  if (call.has_input(2)) scales->zero = read_doubles(call.input(2));
  if (scales->scale.empty() || scales->zero.size() != scales->scale.size()) {
    return refuse(call, "scale and zero point do not fit, or have another type");
  }
  if (scales->scale.size() == 1) return plugin::ok();
  const std::int64_t axis = wrap_axis(call.attributes().get_int("axis", 1), x.size());
  if (axis < 0) return refuse(call, "the axis is outside the input");
  scales->axis_size = x[index(axis)];
  scales->inner = std::max<std::int64_t>(1, size_of(x.subspan(index(axis) + 1)));
  scales->block = call.attributes().get_int("block_size");
  if (scales->block <= 0) {
    scales->block = 0;
    return check_dims(call, call.input(1), std::array{scales->axis_size}, "scale");
  }
  std::vector<std::int64_t> expected(x.begin(), x.end());
  scales->blocks = scales->axis_size / scales->block;
  if (scales->axis_size % scales->block != 0) ++scales->blocks;
  expected[index(axis)] = scales->blocks;
  return check_dims(call, call.input(1), expected, "scale");
}

/// What x / scale is rounded to: the attribute, or else the type of the scale.
sluice_element_type precision_of(const Call& call) {
  const auto given = static_cast<sluice_element_type>(call.attributes().get_int("precision"));
  return given != plugin::kAbsent ? given : call.input(1).element_type;
}

/// Floats divide as floats: where the quotient is a tie decides how it rounds.
double divide_in(sluice_element_type precision, double x, double scale) {
  if (precision == plugin::kF64) return x / scale;
  const float quotient = static_cast<float>(x) / static_cast<float>(scale);
  if (precision == plugin::kF16) return Half(quotient);
  return precision == plugin::kBf16 ? static_cast<float>(Bfloat16(quotient)) : quotient;
}

/// The nearest integer, ties to even, cut to what the type holds. NaN is the lowest: then adding
/// 128 to all bytes with sign gives the bytes without (passes/quantize).
double to_integer(double quotient, double zero, double lowest, double largest) {
  const double shifted = std::nearbyint(quotient) + zero;
  return std::isnan(shifted) ? lowest : std::clamp(shifted, lowest, largest);
}

/// Quotients and their zero points to a type of at most 8 bits.
void write_small_quantized(const Call& call, const Scales& scales,
                           const std::vector<double>& quotients) {
  const sluice_tensor& y = call.output(0);
  const bool saturates = call.attributes().get_int("saturate", 1) != 0;
  const auto format = SmallFloat::of(y.element_type);
  const SmallRange range = format ? SmallRange{0, 0} : small_range(y.element_type);
  std::vector<std::uint8_t> bits(quotients.size());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const double zero = scales.zero[scales.at(i)];
    bits[i] = format ? format->encode(static_cast<float>(quotients[i] + zero), saturates)
                     : static_cast<std::uint8_t>(static_cast<int>(
                           to_integer(quotients[i], zero, range.lowest, range.largest)));
  }
  write_small(y, bits);
}

Status run_quantize(const Call& call) {
  Scales scales;
  if (Status status = read_scales(call, &scales); !status.is_ok()) return status;
  std::vector<double> x = read_doubles(call.input(0));
  if (static_cast<std::int64_t>(x.size()) != plugin::num_elements(call.output(0))) {
    return refuse(call, "the output has another size than the input");
  }
  const sluice_element_type precision = precision_of(call);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = divide_in(precision, x[i], scales.scale[scales.at(i)]);
  }
  if (is_small(call.output(0).element_type)) {
    write_small_quantized(call, scales, x);
    return plugin::ok();
  }
  return dispatch(kWholeBytes, call.output(0).element_type, [&]<typename T>() {
    const auto y = call.output_elements<T>(0);
    constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto kLargest = static_cast<double>(std::numeric_limits<T>::max());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = static_cast<T>(to_integer(x[i], scales.zero[scales.at(i)], kLowest, kLargest));
    }
    return plugin::ok();
  });
}

Status run_dequantize(const Call& call) {
  Scales scales;
  if (Status status = read_scales(call, &scales); !status.is_ok()) return status;
  std::vector<double> x = read_doubles(call.input(0));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = scales.at(i);
    x[i] = (x[i] - scales.zero[at]) * scales.scale[at];
  }
  return write_doubles(call, 0, x);
}

/// Extends the range to include 0, so that 0 is represented exactly.
Status run_dynamic_quantize(const Call& call) {
  if (call.input(0).element_type != plugin::kF32 || call.output(0).element_type != plugin::kU8) {
    return refuse_model(call, "it quantizes f32 to u8");
  }
  const auto x = call.input_elements<float>(0);
  const auto y = call.output_elements<std::uint8_t>(0);
  if (x.size() != y.size()) return refuse(call, "the output has another size than the input");
  float least = 0;
  float largest = 0;
  for (const float value : x) {
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  const float scale = largest == least ? 1.0F : (largest - least) / 255;
  const float zero = std::clamp(std::nearbyint(-least / scale), 0.0F, 255.0F);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = std::nearbyint(x[i] / scale) + zero;
    y[i] = static_cast<std::uint8_t>(std::isnan(value) ? 0 : std::clamp(value, 0.0F, 255.0F));
  }
  Status status = write_doubles(call, 1, std::array{static_cast<double>(scale)});
  if (status.is_ok()) status = write_doubles(call, 2, std::array{static_cast<double>(zero)});
  return status;
}

Status run_byte_table(const Call& call) {
  const auto x = call.input_elements<std::uint8_t>(0);
  const auto table = call.input_elements<std::uint8_t>(1);
  const auto y = call.output_elements<std::uint8_t>(0);
  const bool has_bytes =
      call.input(0).element_type == plugin::kU8 && call.input(1).element_type == plugin::kU8;
  if (!has_bytes || table.size() != 256 || x.size() != y.size()) {
    return refuse(call, "operands do not fit");
  }
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = table[x[i]];
  return plugin::ok();
}

Status check_types(const sluice_op& op) {
  const auto check = [&](const sluice_tensor& tensor) {
    const bool is_known = plugin::is_absent(tensor) || is_small(tensor.element_type) ||
                          contains(kNumbers, tensor.element_type);
    return is_known ? plugin::ok() : unsupported_type(op, tensor.element_type);
  };
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (Status status = check(operand.tensor); !status.is_ok()) return status;
    }
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> quantize_kernels() {
  return {{.kind = "QuantizeLinear", .run = run_quantize, .check = check_types},
          {.kind = "DequantizeLinear", .run = run_dequantize, .check = check_types},
          {.kind = "DynamicQuantizeLinear", .run = run_dynamic_quantize},
          {.domain = "sluice",
           .kind = "ByteTable",
           .run = run_byte_table,
           .num_required_inputs = 2,
           .output_types = {plugin::kU8}}};
}

}  // namespace sluice::reference
