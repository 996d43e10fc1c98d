#include "open_inference/texts.h"

#include <cstring>
#include <string>

#include "terms/runtime_code.h"

namespace sluice::open_inference {
namespace {

constexpr std::size_t kSizeBytes = 4;

}  // namespace

Result<std::vector<std::string_view>> read_texts(std::string_view bytes, std::int64_t count) {
  // Each string takes at least its size, so a count that does not fit allocates nothing.
  if (count < 0 || static_cast<std::uint64_t>(count) > bytes.size() / kSizeBytes) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "{} strings take at least {} bytes each, {} bytes came", count,
                                kSizeBytes, bytes.size());
  }
  std::vector<std::string_view> texts;
  texts.reserve(static_cast<std::size_t>(count));
  std::string_view rest = bytes;
  while (!rest.empty()) {
    std::uint32_t size = 0;
    if (rest.size() >= kSizeBytes) std::memcpy(&size, rest.data(), kSizeBytes);
    if (rest.size() < kSizeBytes || size > rest.size() - kSizeBytes) {
      return terms::runtime_error(RuntimeCode::kBadInput,
                                  "string {} ends behind the {} bytes that came", texts.size(),
                                  bytes.size());
    }
    texts.push_back(rest.substr(kSizeBytes, size));
    rest.remove_prefix(kSizeBytes + size);
  }
  if (texts.size() == static_cast<std::size_t>(count)) return texts;
  return terms::runtime_error(RuntimeCode::kBadInput, "{} strings came, the shape has {}",
                              texts.size(), count);
}

std::string write_texts(std::span<const std::string_view> texts) {
  std::size_t total = 0;
  for (const std::string_view text : texts) total += kSizeBytes + text.size();
  std::string bytes;
  bytes.reserve(total);
  for (const std::string_view text : texts) {
    const auto size = static_cast<std::uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), kSizeBytes);
    bytes.append(text);
  }
  return bytes;
}

}  // namespace sluice::open_inference
