#include "device/memory_usage.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::device {

std::string_view memory_category_name(MemoryCategory category) {
  static constexpr std::array<std::string_view, kNumMemoryCategories> kNames = {
      "constants", "arenas", "tensors", "staging", "other"};
  return kNames.at(static_cast<std::size_t>(category));
}

void MemoryLevel::change(std::int64_t by_bytes) {
  bytes += by_bytes;
  // The peak counts this level alone: peaks of categories need not coincide, so they do not add up
  // to the total's.
  peak_bytes = std::max(peak_bytes, bytes);
}

void MemoryUsage::change(std::string_view client, MemoryCategory category, std::int64_t by_bytes) {
  auto it = by_client.find(client);
  if (it == by_client.end()) it = by_client.try_emplace(std::string(client)).first;
  it->second.at(static_cast<std::size_t>(category)).change(by_bytes);
  used.change(by_bytes);
}

std::int64_t MemoryUsage::bytes_of(MemoryCategory category) const {
  std::int64_t total = 0;
  for (const auto& [client, levels] : by_client) {
    total += levels.at(static_cast<std::size_t>(category)).bytes;
  }
  return total;
}

std::int64_t MemoryUsage::bytes_of(std::string_view client) const {
  const auto it = by_client.find(client);
  if (it == by_client.end()) return 0;
  std::int64_t total = 0;
  for (const MemoryLevel& level : it->second) total += level.bytes;
  return total;
}

std::string MemoryUsage::describe() const {
  std::string text;
  for (const auto& [client, levels] : by_client) {
    std::string parts;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels.at(i).bytes == 0) continue;
      parts += fmt::format("{}{} bytes of {}", parts.empty() ? "" : ", ", levels.at(i).bytes,
                           memory_category_name(static_cast<MemoryCategory>(i)));
    }
    if (!parts.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", client, parts);
  }
  return text.empty() ? "nobody" : text;
}

}  // namespace sluice::device
