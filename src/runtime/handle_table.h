// Handles that become stale when their object is removed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// Objects by 64-bit handle. A handle is an index and a count of the uses of that index, so a
/// removed handle never finds another object. 0 is no handle. Safe across threads.
template <typename T>
class HandleTable {
 public:
  std::uint64_t insert(std::shared_ptr<T> value) {
    const std::lock_guard lock(mutex_);
    std::size_t place = entries_.size();
    if (free_.empty()) {
      entries_.emplace_back();
    } else {
      place = free_.back();
      free_.pop_back();
    }
    Entry& entry = entries_[place];
    entry.value = std::move(value);
    return (std::uint64_t{++entry.generation} << 32U) | place;
  }

  /// Null for an unknown or stale handle.
  std::shared_ptr<T> find(std::uint64_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<std::size_t>(handle & 0xFFFFFFFFU);
    return is_live(handle) ? entries_[place].value : nullptr;
  }

  /// Returns the removed object; null for an unknown or stale handle.
  std::shared_ptr<T> remove(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    if (!is_live(handle)) return nullptr;
    const auto place = static_cast<std::size_t>(handle & 0xFFFFFFFFU);
    // An index whose count would wrap around is not used again: old handles could find the new
    // object.
    if (entries_[place].generation < 0xFFFFFFFFU) free_.push_back(place);
    return std::exchange(entries_[place].value, nullptr);
  }

  /// With their handles, in the order of indices.
  std::vector<std::pair<std::uint64_t, std::shared_ptr<T>>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::uint64_t, std::shared_ptr<T>>> found;
    for (std::size_t place = 0; place < entries_.size(); ++place) {
      if (entries_[place].value == nullptr) continue;
      found.emplace_back((std::uint64_t{entries_[place].generation} << 32U) | place,
                         entries_[place].value);
    }
    return found;
  }

 private:
  struct Entry {
    std::shared_ptr<T> value;
    std::uint32_t generation = 0;
  };

  bool is_live(std::uint64_t handle) const {
    const auto place = static_cast<std::size_t>(handle & 0xFFFFFFFFU);
    return place < entries_.size() && entries_[place].value != nullptr &&
           entries_[place].generation == handle >> 32U;
  }

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> free_;
};

}  // namespace sluice::runtime
