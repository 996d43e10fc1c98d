// A sink whose callers wait for replies that other threads bring.
#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/request/request.h"

namespace sluice::runtime {

/// Callers sleep under the mutex that guards what the sink has beside it.
class LockedSink : public RequestSink {
 public:
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    std::unique_lock lock(mutex_);
    while (!is_done()) {
      if (clock().now_ns() >= deadline_ns) return is_done();
      clock().wait_until(lock, changed_, deadline_ns);
    }
    return true;
  }
  void tell_waiters() override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 protected:
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< with `mutex_`
};

}  // namespace sluice::runtime
