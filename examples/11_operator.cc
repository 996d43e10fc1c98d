// An operator of the program's own: a softmax with a temperature, which the model calls
// com.example::SoftmaxAt. The program registers it, compiles the model, and runs it.
//
//   11_operator custom.onnx
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "seven.h"
#include "sluice/compile.hpp"
#include "sluice/operators.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "11_operator: %s\n", error.message.c_str());
  return 1;
}

/// The output has the type of the input, which must be a matrix of floats. Called when the model is
/// compiled, with dimensions that may not be known yet, and for every new shape.
static std::optional<sluice::Error> infer_softmax(sluice::OperatorTypes& types) {
  const auto dims = types.dims(0);
  if (types.element(0) != sluice::plugin::kF32 || !dims || dims->size() != 2) {
    return sluice::Error{sluice::Code::kInvalidArgument, "takes a matrix of floats"};
  }
  types.set_output_like(0, 0);
  return std::nullopt;
}

static std::optional<sluice::Error> softmax(const sluice::plugin::Call& call) {
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

int main(int argc, char** argv) {
  sluice::Operator op;
  op.domain = "com.example";
  op.name = "SoftmaxAt";
  op.infer = infer_softmax;
  op.run = softmax;
  if (auto error = sluice::register_operator(std::move(op))) return fail(*error);

  auto package = sluice::compile_file(argc > 1 ? argv[1] : "custom.onnx");
  if (!package) return fail(package.error());
  auto model = sluice::Model::open_copy(*package->bytes());  // or package->save(path)
  if (!model) return fail(model.error());
  auto context = model->create_context();
  if (!context) return fail(context.error());

  const std::array<std::int64_t, 4> dims = {1, 1, 8, 8};
  if (auto error = context->set_input<float>("image", kSeven, dims)) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  const auto probabilities = context->output<float>("probabilities")->values;
  print_digit(probabilities.data());
}
