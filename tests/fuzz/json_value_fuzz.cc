// Reads any text as a tensor or sequence in JSON: what is read has as many bytes as its type takes,
// and what is printed of it reads back as the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sluice/tensors/json_value.h"

using namespace sluice;

namespace {

void check(const ir::Constant& tensor) {
  if (tensor.type.element() == ir::ElementType::kString) return;
  const auto bytes = ir::storage_bytes(tensor.type);
  if (!bytes || static_cast<std::size_t>(*bytes) != tensor.data.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = tool::parse_json_value({reinterpret_cast<const char*>(data), size});
  if (!value.is_ok()) return 0;
  if (value->tensor) check(*value->tensor);
  if (value->sequence) {
    for (const ir::Constant& item : *value->sequence) check(item);
  }
  const auto printed = tool::print_json_value(*value);
  if (!printed.is_ok()) std::abort();
  const auto again = tool::parse_json_value(*printed);
  if (!again.is_ok() || *tool::print_json_value(*again) != *printed) std::abort();
  return 0;
}
