// Calls that a full line puts off, and one that comes again and again.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace sluice::completions {

/// A thread that starts with the first call. Safe across threads.
class RetryThread {
 public:
  RetryThread() = default;
  RetryThread(const RetryThread&) = delete;
  RetryThread& operator=(const RetryThread&) = delete;
  /// Makes the calls that are left. Not from a call.
  ~RetryThread();

  /// Calls `work` a millisecond from now, on the thread.
  /// Fails: kResourceExhausted without a thread; kFailedPrecondition at the end.
  Status add(std::function<void()> work);
  /// Calls `work` each second from now on, on the thread; the first one given.
  /// Fails: kResourceExhausted without a thread.
  Status repeat(std::function<void()> work);

 private:
  Status begin();
  void loop();

  std::mutex mutex_;  ///< guards the rest; not held during calls
  std::condition_variable changed_;
  std::vector<std::function<void()>> calls_;
  std::function<void()> repeated_;  ///< empty: none
  bool is_closing_ = false;
  std::thread thread_;
};

}  // namespace sluice::completions
