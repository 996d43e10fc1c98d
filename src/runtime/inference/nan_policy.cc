#include "runtime/inference/nan_policy.h"

#include <cstring>

namespace sluice::runtime {
namespace {

/// All bits of `exponent` set and any below them: a NaN in every IEEE format.
template <typename Word>
bool any_nan(const terms::TensorView& tensor, Word exponent) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data);
  const auto sign = static_cast<Word>(~(static_cast<Word>(~Word{0}) >> 1U));
  const std::int64_t count = tensor.size_bytes / static_cast<std::int64_t>(sizeof(Word));
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i) {
    Word word = 0;
    std::memcpy(&word, bytes + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
    found |= static_cast<Word>(word & static_cast<Word>(~sign)) > exponent;
  }
  return found;
}

}  // namespace

bool holds_nan(const terms::TensorView& tensor) {
  switch (tensor.element) {
    case ir::ElementType::kF16: return any_nan<std::uint16_t>(tensor, 0x7C00);
    case ir::ElementType::kBf16: return any_nan<std::uint16_t>(tensor, 0x7F80);
    case ir::ElementType::kF32: return any_nan<std::uint32_t>(tensor, 0x7F800000U);
    case ir::ElementType::kF64: return any_nan<std::uint64_t>(tensor, 0x7FF0000000000000U);
    default: return false;
  }
}

}  // namespace sluice::runtime
