// Threads for calls that may take long: loads, unloads, what waits for requests to end.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "service/log.h"

namespace sluice::service {

/// Starts a thread when all are busy, up to a limit; then work waits in line. Safe across threads.
/// Work that throws, for lack of memory above all, ends alone: answer its call before.
class CallThreads {
 public:
  /// `log` gets what work throws, and outlives the object.
  CallThreads(std::size_t max_threads, std::size_t max_waiting, Log& log)
      : max_threads_(max_threads), max_waiting_(max_waiting), log_(log) {}
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;
  ~CallThreads() { close(); }

  /// Fails: kUnavailable when the line is full or `close` was called, kResourceExhausted where the
  /// system gives no thread; `work` is not run then.
  Status run(std::function<void()> work);
  /// As `run`, but never refused for a full queue: for mandatory work such as releasing resources.
  /// After `close` the calling thread does the work.
  void run_always(std::function<void()> work);
  /// Returns when all work that was taken is done and the threads have ended.
  void close();

 private:
  void loop();
  void run_now(const std::function<void()>& work) const;
  /// Fails: kResourceExhausted without any thread; `work` is left as it is then.
  Status push(std::function<void()>& work);

  const std::size_t max_threads_;
  const std::size_t max_waiting_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::function<void()>> waiting_;
  std::size_t num_idle_ = 0;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::service
