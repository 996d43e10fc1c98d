// Who uses a device's memory, and for what.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sluice::device {

enum class MemoryCategory : std::uint8_t { kConstants, kArenas, kTensors, kStaging, kOther };
inline constexpr std::size_t kNumMemoryCategories = 5;

std::string_view memory_category_name(MemoryCategory category);  ///< "constants"

/// A level and the highest it has been.
struct MemoryLevel {
  std::int64_t bytes = 0;
  std::int64_t peak_bytes = 0;

  void change(std::int64_t by_bytes);
};

/// Counts by client and category. Plain data; whoever owns it locks.
struct MemoryUsage {
  MemoryLevel used;  ///< given to clients
  MemoryLevel
      held;  ///< taken from the device: used, what sizes were rounded up by, and idle blocks
  std::int64_t idle_bytes = 0;    ///< of `held`
  std::int64_t grown_bytes = 0;   ///< taken from the device since the start
  std::int64_t shrunk_bytes = 0;  ///< given back to it
  std::map<std::string, std::array<MemoryLevel, kNumMemoryCategories>, std::less<>> by_client;

  void change(std::string_view client, MemoryCategory category, std::int64_t by_bytes);
  /// All clients' bytes of one category.
  std::int64_t bytes_of(MemoryCategory category) const;
  std::int64_t bytes_of(std::string_view client) const;
  /// "resnet: 12 bytes of constants, 3 of arenas; bert: ..."; "nobody" if nothing is used.
  std::string describe() const;
};

}  // namespace sluice::device
