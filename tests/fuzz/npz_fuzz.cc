// Reads any bytes as a .npz file: a tensor that is read has as many bytes as its shape takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sluice/tensors/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sluice::Bytes file(nullptr, {reinterpret_cast<const std::byte*>(data), size});
  const auto constant = sluice::tool::parse_npz(file, "x");
  if (!constant.is_ok()) {
    if (constant.status().message().empty()) std::abort();
    return 0;
  }
  const auto bytes = sluice::ir::storage_bytes(constant->type);
  if (!bytes || static_cast<std::size_t>(*bytes) != constant->data.size()) std::abort();
  return 0;
}
