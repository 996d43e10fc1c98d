// Handles that become stale when their object is removed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// The host of a model: three bits of the model's handle, so that handles of two hosts never are
/// equal and a handle alone says who has the model. kPosted: the daemon that has a posted request.
enum class HandleKind : std::uint8_t {
  kEngine,
  kCombined,
  kFunction,
  kGraph,
  kWorker,
  kOnDemand,
  kPosted
};

constexpr std::uint64_t kKindShift = 29;
constexpr std::size_t kNumKinds = 8;  ///< with those that no host has

constexpr HandleKind kind_of(std::uint64_t handle) {
  return static_cast<HandleKind>((handle >> kKindShift) % kNumKinds);
}

constexpr std::uint64_t handle_of(HandleKind kind, std::uint64_t number) {
  return (number << 32U) | (static_cast<std::uint64_t>(kind) << kKindShift);
}

/// Objects by 64-bit handle. A handle is a kind, an index and a count of the uses of that index, so
/// a removed handle never finds another object. 0 is no handle. Safe across threads.
template <typename T>
class HandleTable {
 public:
  explicit HandleTable(HandleKind kind = HandleKind::kEngine)
      : kind_bits_(static_cast<std::uint64_t>(kind) << kKindShift) {}

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
    ++entry.generation;
    return handle_of(place);
  }

  /// Null for an unknown or stale handle.
  std::shared_ptr<T> find(std::uint64_t handle) const {
    const std::lock_guard lock(mutex_);
    return is_live(handle) ? entries_[place_of(handle)].value : nullptr;
  }

  /// Returns the removed object; null for an unknown or stale handle.
  std::shared_ptr<T> remove(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    if (!is_live(handle)) return nullptr;
    const std::size_t place = place_of(handle);
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
      found.emplace_back(handle_of(place), entries_[place].value);
    }
    return found;
  }

 private:
  struct Entry {
    std::shared_ptr<T> value;
    std::uint32_t generation = 0;
  };

  static std::size_t place_of(std::uint64_t handle) {
    return static_cast<std::size_t>(handle & ((std::uint64_t{1} << kKindShift) - 1));
  }
  std::uint64_t handle_of(std::size_t place) const {
    return (std::uint64_t{entries_[place].generation} << 32U) | kind_bits_ | place;
  }
  bool is_live(std::uint64_t handle) const {
    const std::size_t place = place_of(handle);
    return place < entries_.size() && entries_[place].value != nullptr &&
           handle == handle_of(place);
  }

  const std::uint64_t kind_bits_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> free_;
};

}  // namespace sluice::runtime
