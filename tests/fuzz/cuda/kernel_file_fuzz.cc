// Any bytes as a kept kernel: the first byte says how many of the others are the inputs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugin/compile/kernel_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view inputs = rest.substr(0, data[0]);
  const std::string_view file = rest.substr(inputs.size());
  const auto code = sluice::cuda::unwrap_kernel(file, inputs);
  if (code && sluice::cuda::wrap_kernel(inputs, *code) != file) std::abort();
  const std::string whole = sluice::cuda::wrap_kernel(inputs, rest);
  if (!rest.empty() && sluice::cuda::unwrap_kernel(whole, inputs) != rest) std::abort();
  return 0;
}
