// Reads any bytes as a file of safetensors: a tensor that is read has as many bytes as its shape
// takes; a file that is refused says why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sluice::Bytes file(nullptr, {reinterpret_cast<const std::byte*>(data), size});
  const auto weights = sluice::weights::read_safetensors(file);
  if (!weights.is_ok()) {
    if (weights.status().message().empty()) std::abort();
    return 0;
  }
  std::uint64_t sum = 0;
  for (const auto& [name, constant] : *weights) {
    const auto bytes = sluice::ir::storage_bytes(constant.type);
    if (!bytes || static_cast<std::size_t>(*bytes) != constant.data.size()) std::abort();
    for (const std::byte byte : constant.data.view()) sum += static_cast<std::uint64_t>(byte);
  }
  return sum == ~std::uint64_t{0} ? 1 : 0;
}
