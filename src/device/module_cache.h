// What is made once and used by many: kernels, packed constants.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::device {

/// Values by key, each alive as long as somebody uses it: the cache itself keeps none. Safe across
/// threads; one thread makes a value while others that want the same one wait for it, and those
/// that want another do not.
///
/// The key says everything that the value depends on, the backend's version included.
template <typename Value>
class ModuleCache {
 public:
  using Shared = std::shared_ptr<const Value>;

  /// The living value of `key`; else `make()`, which returns a Result<Shared> and may not come back
  /// to this cache with the same key. A failure is told to this caller; the next one tries again.
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

  /// Values that somebody uses.
  std::size_t num_living() const {
    const std::lock_guard lock(mutex_);
    std::size_t living = 0;
    for (const auto& [key, slot] : slots_) living += slot->value.expired() ? 0 : 1;
    return living;
  }

 private:
  struct Slot {
    std::mutex making;                 // held by who makes the value
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

  /// Forgets the keys of dead values, often enough that they are at most half of all.
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
