// The units as they are now, for calls that wait for their next change.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "rpc/kubelet/core_units.h"

namespace sluice::rpc::kubelet {

/// Safe from any thread.
class UnitTable {
 public:
  struct State {
    std::int64_t version = 0;  ///< 0: before the first `set`
    std::vector<CoreUnit> units;
  };

  /// Wakes who waits if the units differ from those before.
  void set(std::vector<CoreUnit> units) {
    const std::lock_guard lock(mutex_);
    if (state_.version != 0 && units == state_.units) return;
    state_ = {state_.version + 1, std::move(units)};
    has_changed_.notify_all();
  }

  State now() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  /// The state once its version is another, or as it is when the time is over.
  State after(std::int64_t version, std::int64_t limit_ns) const {
    std::unique_lock lock(mutex_);
    has_changed_.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                          [&] { return state_.version != version; });
    return state_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable has_changed_;
  State state_;
};

}  // namespace sluice::rpc::kubelet
