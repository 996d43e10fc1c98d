#include "reference/kernels/matrix/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/small_elements.h"

namespace sluice::reference {
namespace {

constexpr Types<std::uint8_t, std::int8_t> kBytes;
constexpr auto kSmallInts = kBytes + Types<std::uint16_t, std::int16_t, std::int32_t>();

/// Elements between neighbours along the axis, and its size.
std::pair<std::int64_t, std::int64_t> axis_step(Dims dims, ZeroPointAxis axis) {
  if (dims.empty()) return {1, 1};
  if (axis == kColumnAxis) return {1, dims.size() < 2 ? 1 : dims.back()};
  if (axis == kFirstAxis) return {std::max<std::int64_t>(1, size_of(dims.subspan(1))), dims[0]};
  return {std::max<std::int64_t>(1, dims.back()), dims.size() < 2 ? 1 : dims[dims.size() - 2]};
}

}  // namespace

Status read_shifted(const Call& call, int input, int zero, ZeroPointAxis axis,
                    std::vector<double>* values) {
  const sluice_tensor& tensor = call.input(input);
  if (!contains(kBytes, tensor.element_type) && !SmallFloat::of(tensor.element_type)) {
    return refuse_model(call, "inputs must be u8, i8 or floats of 8 bits");
  }
  *values = read_doubles(tensor);
  std::vector<double> zeros = {0};
  if (call.has_input(zero)) zeros = read_doubles(call.input(zero));
  const auto [step, size] = axis_step(plugin::dims_of(tensor), axis);
  if (zeros.size() != 1 && zeros.size() != index(size)) {
    return refuse(call, std::to_string(zeros.size()) + " zero points do not fit input " +
                            plugin::to_string(plugin::dims_of(tensor)));
  }
  for (std::size_t i = 0; i < values->size(); ++i) {
    // Zero points repeat for every stack of matrices.
    (*values)[i] -= zeros[zeros.size() == 1 ? 0 : i / index(step) % index(size)];
  }
  return plugin::ok();
}

Status read_shifted(const Call& call, int input, int zero, ZeroPointAxis axis,
                    std::vector<std::int32_t>* values) {
  if (!contains(kBytes, call.input(input).element_type)) {
    return refuse_model(call, "inputs must be u8 or i8");
  }
  std::vector<double> exact;
  if (Status status = read_shifted(call, input, zero, axis, &exact); !status.is_ok()) return status;
  values->clear();
  for (const double value : exact) values->push_back(static_cast<std::int32_t>(value));
  return plugin::ok();
}

/// Floats of 8 bits: value + zero, rounded and cut to the largest.
static Status write_small_quantized(const Call& call, const sluice_tensor& tensor,
                                    std::span<const double> values,
                                    const sluice_tensor& zero_point) {
  const auto format = SmallFloat::of(tensor.element_type);
  const std::vector<double> zero =
      plugin::is_absent(zero_point) ? std::vector<double>{0} : read_doubles(zero_point);
  if (zero.size() != 1 || std::cmp_not_equal(values.size(), plugin::num_elements(tensor))) {
    return refuse(call, "output and zero point do not fit");
  }
  std::vector<std::uint8_t> bits;
  for (const double value : values) {
    bits.push_back(format->encode(static_cast<float>(value + zero[0]), true));
  }
  write_small(tensor, bits);
  return plugin::ok();
}

Status write_quantized(const Call& call, int output, std::span<const double> values,
                       const sluice_tensor& zero_point) {
  const sluice_tensor& tensor = call.output(output);
  if (SmallFloat::of(tensor.element_type)) {
    return write_small_quantized(call, tensor, values, zero_point);
  }
  std::vector<std::int64_t> zero = {0};
  if (!plugin::is_absent(zero_point)) zero = read_ints(zero_point);
  if (zero.size() != 1) return refuse(call, "the output's zero point must be one number");
  return dispatch(kSmallInts, tensor.element_type, [&]<typename T>() {
    const auto target = plugin::elements<T>(tensor);
    if (target.size() != values.size()) return refuse(call, "the output has another size");
    constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto kLargest = static_cast<double>(std::numeric_limits<T>::max());
    for (std::size_t i = 0; i < target.size(); ++i) {
      // Rounded before the zero point is added: ties go to even numbers of steps.
      const double shifted = std::nearbyint(values[i]) + static_cast<double>(zero[0]);
      target[i] =
          static_cast<T>(std::isnan(shifted) ? kLowest : std::clamp(shifted, kLowest, kLargest));
    }
    return plugin::ok();
  });
}

}  // namespace sluice::reference
