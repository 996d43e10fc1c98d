// Calls that a full line puts off.
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

 private:
  void loop();

  std::mutex mutex_;  ///< guards the rest; not held during calls
  std::condition_variable changed_;
  std::vector<std::function<void()>> calls_;
  bool is_closing_ = false;
  std::thread thread_;
};

}  // namespace sluice::completions
