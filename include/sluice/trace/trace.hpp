// Tracing, in C++: a function of tensors becomes a package. Link libsluice_compiler and libsluice.
//
//   #include "sluice/trace/trace.hpp"
//   using sluice::trace::Tensor;
//
//   auto package = sluice::trace::compile(
//       [](Tensor x, Tensor y) { return softmax(2 * x + y); },
//       {{"x", "f32[N,3]"}, {"y", "f32[3]"}});
//   if (!package) return fail(package.error());
//   package->save("func.sluice");
//
// The function runs once, with tensors that have types and no elements. What it does with them is
// recorded; its loops and branches on numbers of the program take the way that they take then. A
// branch on the elements of a tensor is an error. Errors name the line of the program.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/trace/functions.hpp"
#include "sluice/trace/module.hpp"

namespace sluice::trace {

/// An input of the model: "x", "f32[N,3]". Dimensions are numbers, or names of what varies.
struct Input {
  const char* name;
  const char* type;
};

/// An output of the model.
struct Output {
  std::string name;
  Tensor tensor;
};

namespace detail {

inline std::vector<Output> outputs_of(const Tensor& only) { return {{"output", only}}; }
inline std::vector<Output> outputs_of(std::vector<Output> outputs) { return outputs; }

/// Runs the function; what it records belongs to the current recording.
template <typename Function, std::size_t N>
void record(Function& function, const Input (&inputs)[N], Recording& recording) {
  std::array<Tensor, N> tensors;
  for (std::size_t i = 0; i < N; ++i) {
    tensors[i] = Tensor::of(recording.input(inputs[i].name, inputs[i].type));
  }
  for (const Output& output : outputs_of(std::apply(function, tensors))) {
    recording.output(output.name, output.tensor.value());
  }
}

}  // namespace detail

/// Traces `function`, which takes a Tensor per input and returns a Tensor, the model's "output", or
/// a std::vector<Output>. It runs on the calling thread. Exceptions of the function pass through.
/// Fails: kInvalidArgument  a type that cannot be read; what an operator refuses, or a branch on
///                          elements, with the line of the program
///        kUnimplemented    an unknown operator; what compiling reports
template <typename Function, std::size_t N>
Expected<Package> compile(Function&& function, const Input (&inputs)[N],
                          const CompileOptions& options = {}) {
  try {
    detail::Recording recording;
    detail::record(function, inputs, recording);
    sluice_compile_request request = {};
    request.trace = recording.handle();
    return sluice::compile(request, options);
  } catch (const Refusal& refusal) {
    return refusal.error;
  }
}

}  // namespace sluice::trace
