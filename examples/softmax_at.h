// An operator of our own: a softmax with a temperature, which models call com.example::SoftmaxAt.
#pragma once

#include <algorithm>
#include <cmath>

#include "sluice/operators.hpp"

/// The output has the type of the input, which must be a matrix of floats. Called when the model is
/// compiled, with dimensions that may not be known yet, and for every new shape.
inline std::optional<sluice::Error> infer_softmax(sluice::OperatorTypes& types) {
  const auto dims = types.dims(0);
  if (types.element(0) != sluice::plugin::kF32 || !dims || dims->size() != 2) {
    return sluice::Error{sluice::Code::kInvalidArgument, "takes a matrix of floats"};
  }
  types.set_output_like(0, 0);
  return std::nullopt;
}

inline std::optional<sluice::Error> softmax(const sluice::plugin::Call& call) {
  const float temperature = call.attributes().get_float("temperature", 1);
  if (temperature <= 0)
    return sluice::Error{sluice::Code::kInvalidArgument, "temperature is not above 0"};
  const auto x = call.input_elements<float>(0);
  const auto y = call.output_elements<float>(0);
  const auto row = static_cast<std::size_t>(sluice::plugin::dims_of(call.input(0)).back());
  for (std::size_t begin = 0; begin < x.size(); begin += row) {
    const float largest = *std::max_element(&x[begin], &x[begin] + row);
    float sum = 0;
    for (std::size_t i = begin; i < begin + row; ++i) {
      sum += y[i] = std::exp((x[i] - largest) / temperature);
    }
    for (std::size_t i = begin; i < begin + row; ++i) y[i] /= sum;
  }
  return std::nullopt;
}

inline sluice::Operator softmax_at() {
  sluice::Operator op;
  op.domain = "com.example";
  op.name = "SoftmaxAt";
  op.infer = infer_softmax;
  op.run = softmax;
  return op;
}
