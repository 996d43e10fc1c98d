// Reads any bytes as a GGUF file. Each tensor must have the bytes of its shape, and each refusal a
// message. The fuzzer makes settings and a tokenizer of the metadata.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "recipes/gguf/gguf_settings.h"
#include "recipes/gguf/gguf_text_files.h"
#include "weights/gguf/gguf.h"

namespace {

void check(const sluice::Status& status) {
  if (!status.is_ok() && status.message().empty()) std::abort();
}

std::uint64_t sum_of(const sluice::ir::Constant& constant) {
  const auto bytes = sluice::ir::storage_bytes(constant.type);
  if (!bytes || static_cast<std::size_t>(*bytes) != constant.data.size()) std::abort();
  std::uint64_t sum = 0;
  for (const std::byte byte : constant.data.view()) sum += static_cast<std::uint64_t>(byte);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sluice::Bytes file(nullptr, {reinterpret_cast<const std::byte*>(data), size});
  const auto gguf = sluice::weights::read_gguf(file);
  check(gguf.status());
  if (!gguf.is_ok()) return 0;
  std::uint64_t sum = 0;
  for (const auto& [name, constant] : gguf->weights) sum += sum_of(constant);
  for (const auto& [name, blocks] : gguf->weights.blocks()) {
    sum += sum_of(blocks.numbers) + sum_of(blocks.scales);
    if (blocks.zeros) sum += sum_of(*blocks.zeros);
  }
  check(sluice::recipes::gguf_config(gguf->metadata, gguf->weights).status());
  check(sluice::recipes::with_names_of_transformers(gguf->metadata, gguf->weights).status());
  check(sluice::recipes::gguf_text_files(gguf->metadata).status());
  return sum == ~std::uint64_t{0} ? 1 : 0;
}
