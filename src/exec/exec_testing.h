// Small models for tests: text in, a loaded model out.
#pragma once

#include <string_view>
#include <vector>

#include "exec/loaded_model.h"

namespace sluice::exec::testing {

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

TensorView f32_view(Aligned<float>& values, std::vector<std::int64_t> dims);
TensorView i64_view(Aligned<std::int64_t>& values, std::vector<std::int64_t> dims);

std::vector<float> floats(const TensorView& view);

}  // namespace sluice::exec::testing
