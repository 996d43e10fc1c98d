// Softmax and Relu on floats, which both plug-ins of this example compute.
#pragma once

#include <algorithm>
#include <cmath>

#include "sluice/host_backend.hpp"

namespace example {

namespace plugin = sluice::plugin;

/// Checks are asked at compile time, when dimensions may still be unknown (-1), and again before a
/// kernel is made, when none is. What is refused here another backend runs.
inline plugin::Status check_floats(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (x.element_type != plugin::kF32) {
    return plugin::unimplemented(plugin::kind_of(op) + ": floats only");
  }
  if (!std::ranges::equal(plugin::dims_of(x), plugin::dims_of(op.outputs[0].tensor))) {
    return plugin::invalid_argument(plugin::kind_of(op) + ": input and output differ in shape");
  }
  return plugin::ok();
}

inline plugin::Status check_softmax(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", -1);
  const std::int32_t rank = op.inputs[0].tensor.rank;
  if (op.version < 13 || rank == 0 || (axis != -1 && axis != rank - 1)) {
    return plugin::unimplemented("Softmax: only along the last axis, as from opset 13");
  }
  return check_floats(op);
}

inline void softmax_of_row(const float* x, float* y, std::int64_t size) {
  const float largest = *std::max_element(x, x + size);
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += y[i] = std::exp(x[i] - largest);
  for (std::int64_t i = 0; i < size; ++i) y[i] /= sum;
}

inline plugin::Status run_softmax(const plugin::Call& call) {
  const auto x = call.input_elements<float>(0);
  const auto y = call.output_elements<float>(0);
  const auto row = static_cast<std::size_t>(plugin::dims_of(call.input(0)).back());
  for (std::size_t begin = 0; begin < x.size(); begin += row) {
    softmax_of_row(&x[begin], &y[begin], static_cast<std::int64_t>(row));
  }
  return plugin::ok();
}

inline plugin::Status run_relu(const plugin::Call& call) {
  const auto x = call.input_elements<float>(0);
  const auto y = call.output_elements<float>(0);
  std::ranges::transform(x, y.begin(), [](float value) { return value > 0 ? value : 0; });
  return plugin::ok();
}

inline const plugin::KernelEntry kKernels[] = {
    {.kind = "Relu", .run = run_relu, .check = check_floats},
    {.kind = "Softmax", .run = run_softmax, .check = check_softmax},
};

}  // namespace example
