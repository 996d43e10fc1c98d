#include "backend/texts.h"

#include <cstring>
#include <new>
#include <utility>

namespace sluice::backend {

Result<std::vector<sluice_text>> decode_texts(const ir::Constant& constant) {
  const auto count = ir::num_elements(*constant.type.shape());
  const auto held = static_cast<std::int64_t>(constant.data.size());
  constexpr std::int64_t kOffsetBytes = sizeof(std::int64_t);
  // Comparing by division cannot overflow, and leaves room for count + 1 offsets.
  if (!count || *count < 0 || *count >= held / kOffsetBytes) {
    return invalid_argument("{} strings have no room for their offsets", count.value_or(-1));
  }
  const std::int64_t text_bytes = held - (*count + 1) * kOffsetBytes;
  const std::byte* offsets = constant.data.data();
  const char* characters = reinterpret_cast<const char*>(offsets + (*count + 1) * kOffsetBytes);
  std::vector<sluice_text> texts;
  texts.reserve(static_cast<std::size_t>(*count));
  std::int64_t begin = 0;
  // Offsets of a mapped file or a message need not be aligned.
  std::memcpy(&begin, offsets, sizeof(begin));
  for (std::int64_t i = 0; i < *count; ++i) {
    std::int64_t end = 0;
    std::memcpy(&end, offsets + (i + 1) * kOffsetBytes, sizeof(end));
    if (begin < 0 || end < begin || end > text_bytes) {
      return invalid_argument("string {} has an offset outside the data", i);
    }
    texts.push_back({characters + begin, end - begin});
    begin = end;
  }
  return texts;
}

Result<std::int64_t> encoded_bytes(std::span<const sluice_text> texts) {
  auto total = static_cast<std::int64_t>((texts.size() + 1) * sizeof(std::int64_t));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size_bytes < 0) {
      return internal_error("text {} has {} bytes", i, texts[i].size_bytes);
    }
    total += texts[i].size_bytes;
  }
  return total;
}

void encode_texts(std::span<const sluice_text> texts, std::span<std::byte> encoded) {
  std::byte* characters = encoded.data() + (texts.size() + 1) * sizeof(std::int64_t);
  std::int64_t end = 0;
  std::memcpy(encoded.data(), &end, sizeof(end));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const sluice_text& text = texts[i];
    if (text.size_bytes > 0) {
      std::memcpy(characters + end, text.data, static_cast<std::size_t>(text.size_bytes));
    }
    end += text.size_bytes;
    std::memcpy(encoded.data() + (i + 1) * sizeof(end), &end, sizeof(end));
  }
}

TextPool::TextPool(std::shared_ptr<ByteBudget> budget)
    : handle_{this,
              [](sluice_text_pool* pool, std::int64_t size_bytes) {
                return static_cast<TextPool*>(pool->owner)->allocate(size_bytes);
              }},
      budget_(std::move(budget)) {}

char* TextPool::allocate(std::int64_t size_bytes) {
  if (size_bytes < 0) return nullptr;
  const std::lock_guard lock(mutex_);
  // A text above a quarter of a block has memory of its own, so that a block leaves at most a
  // quarter unused at its end.
  const bool is_large = size_bytes > kBlockBytes / 4;
  if (!is_large && used_bytes_ + size_bytes <= kBlockBytes) {
    char* text = blocks_.back().memory.get() + used_bytes_;
    used_bytes_ += size_bytes;
    return text;
  }
  const std::int64_t block_bytes = is_large ? size_bytes : kBlockBytes;
  auto charge = ByteCharge::take(budget_, block_bytes);
  if (!charge.is_ok()) return nullptr;
  Block block = {std::move(charge).value(), nullptr};
  block.memory.reset(new (std::nothrow) char[static_cast<std::size_t>(block_bytes)]);
  if (block.memory == nullptr) return nullptr;
  char* text = block.memory.get();
  if (!is_large) used_bytes_ = size_bytes;
  (is_large ? large_ : blocks_).push_back(std::move(block));
  return text;
}

void TextPool::reset() {
  large_.clear();
  if (blocks_.size() > 1) blocks_.erase(blocks_.begin() + 1, blocks_.end());
  // A full block that does not exist: the next small text allocates the first one.
  used_bytes_ = blocks_.empty() ? kBlockBytes : 0;
}

}  // namespace sluice::backend
