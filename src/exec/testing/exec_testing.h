// Small models for tests: text in, a loaded model out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exec/loaded_model.h"

namespace sluice::exec::testing {

/// A model with a loop that appends the iteration's number until there are as many as the condition
/// allows.
inline constexpr std::string_view kGrowingLoop = R"(
subgraph @0 "main" {
  input %limit : f32[]
  const %none : f32[0] = []
  const %true : bool[] = hex 01
  [%all : f32[?]] = Loop.25[_, %true, %none, %limit] {body = @1, captures = 1}
  [%y : f32[?]] = Relu.14[%all]
  output [%y]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %all : f32[?]
  input %limit : f32[]
  const %axis : i64[1] = [0]
  [%f : f32[]] = Cast.25[%i] {saturate = 1, to = 1}
  [%row : f32[1]] = Unsqueeze.25[%f, %axis]
  [%more : f32[?]] = Concat.13[%all, %row] {axis = 0}
  [%on : bool[]] = Less.13[%f, %limit]
  output [%on, %more]
}
)";

/// Two towers of kernels that are too short for several cores each: input x and outputs y, the
/// towers' difference, and l15, one tower; all f32[40000].
std::string towers_of_short_kernels();

/// The plug-ins beside the test program.
const backend::BackendRegistry& registry();

/// Parses, infers types and gives every operation that needs a kernel to `backend`.
package::Executable executable_of(std::string_view graph_text,
                                  std::string_view backend = "reference");

/// Requires: the graph loads.
LoadedModel load(std::string_view graph_text, std::string_view backend = "reference",
                 int num_threads = 1);

/// 64-byte aligned memory of one element type.
template <typename T>
class Aligned {
 public:
  explicit Aligned(const std::vector<T>& values)
      : bytes_(MutableBytes::copy_of(std::as_bytes(std::span(values)))) {}
  T* data() { return reinterpret_cast<T*>(bytes_.view().data()); }
  std::int64_t size_bytes() { return static_cast<std::int64_t>(bytes_.view().size()); }

 private:
  MutableBytes bytes_;
};

terms::TensorView f32_view(Aligned<float>& values, std::vector<std::int64_t> dims);
terms::TensorView i64_view(Aligned<std::int64_t>& values, std::vector<std::int64_t> dims);

std::vector<float> floats(const terms::TensorView& view);

}  // namespace sluice::exec::testing
