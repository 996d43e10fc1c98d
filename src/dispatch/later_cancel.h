// The end of work that another thread is about to begin.
#pragma once

#include <functional>
#include <mutex>

namespace sluice::dispatch {

/// Safe across threads.
class LaterCancel {
 public:
  /// `cancel` ends the work that has just begun, or is about to; empty: nothing can. It is called
  /// at once if that was asked for meanwhile. Takes the place of an earlier one.
  void set(std::function<void()> cancel) {
    {
      const std::lock_guard lock(mutex_);
      cancel_.swap(cancel);  // the earlier one goes without the lock
      if (!is_cancelled_) return;
    }
    this->cancel();
  }
  /// May be called again.
  void cancel() {
    std::function<void()> now;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      now = cancel_;
    }
    if (now != nullptr) now();
  }
  bool is_cancelled() const {
    const std::lock_guard lock(mutex_);
    return is_cancelled_;
  }

 private:
  mutable std::mutex mutex_;
  bool is_cancelled_ = false;
  std::function<void()> cancel_;
};

}  // namespace sluice::dispatch
