#include "ir/texts.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace sluice::ir {

Bytes pack_texts(std::span<const std::string_view> texts) {
  std::vector<std::int64_t> offsets = {0};
  offsets.reserve(texts.size() + 1);
  for (const std::string_view text : texts) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(text.size()));
  }
  const std::size_t head = offsets.size() * sizeof(std::int64_t);
  std::vector<std::byte> data(head + static_cast<std::size_t>(offsets.back()));
  std::memcpy(data.data(), offsets.data(), head);
  std::byte* out = data.data() + head;
  for (const std::string_view text : texts) {
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
    out += text.size();
  }
  return Bytes::own(std::move(data));
}

std::vector<std::string_view> unpack_texts(const Constant& constant) {
  return unpack_texts(constant.data.data(),
                      static_cast<std::size_t>(num_elements(*constant.type.shape()).value_or(0)));
}

std::vector<std::string_view> unpack_texts(const std::byte* data, std::size_t count) {
  // Copied, because bytes of a mapped file need not be aligned.
  std::vector<std::int64_t> offsets(count + 1);
  std::memcpy(offsets.data(), data, offsets.size() * sizeof(std::int64_t));
  const auto* bytes = reinterpret_cast<const char*>(data) + offsets.size() * sizeof(std::int64_t);
  std::vector<std::string_view> texts(count);
  for (std::size_t i = 0; i < count; ++i) {
    texts[i] = {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
  return texts;
}

Constant make_text_constant(std::span<const std::string_view> values, Shape shape) {
  return Constant{Type::tensor(ElementType::kString, std::move(shape)), pack_texts(values)};
}

}  // namespace sluice::ir
