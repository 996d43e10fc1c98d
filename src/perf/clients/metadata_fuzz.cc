// Reads any text as a server's metadata: it is refused or gives tensors within the limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "perf/clients/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto signature = sluice::perf::parse_metadata({reinterpret_cast<const char*>(data), size});
  if (!signature.is_ok()) return 0;
  for (const auto* tensors : {&signature->inputs, &signature->outputs}) {
    if (tensors->size() > 1024) std::abort();
    for (const auto& tensor : *tensors) {
      if (tensor.name.size() > 1024 || tensor.type.shape()->size() > 64) std::abort();
    }
  }
  return 0;
}
