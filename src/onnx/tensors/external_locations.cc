#include "onnx/tensors/external_locations.h"

#include <string_view>

namespace sluice::onnx {
namespace {

/// A StringStringEntryProto up to its value: field 1, 8 bytes, "location", field 2.
constexpr std::string_view kStart = "\x0A\x08location\x12";
/// Longer paths do not exist on Linux.
constexpr std::size_t kMaxLength = 4096;

/// The length that follows as a varint of at most two bytes; 0 for a longer one or none.
std::size_t read_length(std::string_view& text) {
  if (text.empty()) return 0;
  const auto low = static_cast<unsigned char>(text[0]);
  if (low < 0x80) {
    text.remove_prefix(1);
    return low;
  }
  if (text.size() < 2) return 0;
  const auto high = static_cast<unsigned char>(text[1]);
  text.remove_prefix(2);
  return high < 0x80 ? (low & 0x7FU) | (std::size_t{high} << 7U) : 0;
}

}  // namespace

std::set<std::string> external_locations(std::span<const std::byte> model) {
  std::string_view text(reinterpret_cast<const char*>(model.data()), model.size());
  std::set<std::string> found;
  for (std::size_t at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart)) {
    text.remove_prefix(at + kStart.size());
    const std::size_t length = read_length(text);
    if (length > 0 && length <= kMaxLength && length <= text.size()) {
      found.emplace(text.substr(0, length));
    }
  }
  return found;
}

}  // namespace sluice::onnx
