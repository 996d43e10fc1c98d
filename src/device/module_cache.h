// A cache of shared objects that are created once: kernels, packed constants.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::device {

/// Values by key. Users own the values; the cache holds weak references only. Safe across threads:
/// one thread creates a value while others that ask for the same key wait; other keys are not
/// blocked.
///
/// The key says everything that the value depends on, the backend's version included.
template <typename Value>
class ModuleCache {
 public:
  using Shared = std::shared_ptr<const Value>;

  /// The living value of `key`; else `make()`, which returns a Result<Shared> and may not come back
  /// to this cache with the same key. A failure is returned to this caller; the next caller tries
  /// again.
  template <typename Make>
  Result<Shared> find_or_make(std::string_view key, Make&& make) {
    const std::shared_ptr<Slot> slot = slot_of(key);
    const std::lock_guard alone(slot->making);
    if (Shared living = value_of(*slot)) return living;
    Shared made = SLUICE_TRY(make());
    const std::lock_guard lock(mutex_);
    slot->value = made;
    return made;
  }

  /// Null if no value of `key` lives.
  Shared find(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    const auto it = slots_.find(key);
    return it == slots_.end() ? nullptr : it->second->value.lock();
  }

  /// Number of values in use.
  std::size_t num_living() const {
    const std::lock_guard lock(mutex_);
    std::size_t living = 0;
    for (const auto& [key, slot] : slots_) living += slot->value.expired() ? 0 : 1;
    return living;
  }

 private:
  struct Slot {
    std::mutex making;                 // held while the value is created
    std::weak_ptr<const Value> value;  // guarded by mutex_
  };

  Shared value_of(const Slot& slot) const {
    const std::lock_guard lock(mutex_);
    return slot.value.lock();
  }

  std::shared_ptr<Slot> slot_of(std::string_view key) {
    const std::lock_guard lock(mutex_);
    const auto it = slots_.find(key);
    if (it != slots_.end()) return it->second;
    if (slots_.size() >= sweep_at_) sweep();
    return slots_.try_emplace(std::string(key), std::make_shared<Slot>()).first->second;
  }

  /// Removes the keys of dead values, often enough that they are at most half of all keys.
  void sweep() {
    std::erase_if(slots_, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->value.expired();
    });
    sweep_at_ = 2 * slots_.size() + 16;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>, std::less<>> slots_;
  std::size_t sweep_at_ = 16;
};

}  // namespace sluice::device
