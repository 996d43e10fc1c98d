// Reads any bytes as a .npy file: what is read has a known shape, and as many bytes as that takes,
// inside the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "package/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* start = reinterpret_cast<const std::byte*>(data);
  const sluice::Bytes file(nullptr, {start, size});
  const auto constant = sluice::package::parse_npy(file);
  if (!constant.is_ok()) return 0;
  const auto bytes = sluice::ir::storage_bytes(constant->type);
  if (!bytes || static_cast<std::size_t>(*bytes) != constant->data.size()) std::abort();
  const std::byte* end = constant->data.data() + constant->data.size();
  if (constant->data.data() < start || end > start + size) std::abort();
  return 0;
}
