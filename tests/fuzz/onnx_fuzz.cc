// A model from bytes: import never crashes, and what it accepts is a well-formed graph.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "ir/verify.h"
#include "onnx/import.h"
#include "onnx/tensors/external_locations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto graph = sluice::onnx::import_model_bytes(bytes, {});
  if (graph.is_ok() && !sluice::ir::verify(*graph).is_ok()) std::abort();
  for (const std::string& location : sluice::onnx::external_locations(bytes)) {
    if (location.empty() || location.size() > size) std::abort();
  }
  return 0;
}
