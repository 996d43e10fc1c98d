#include "service/call_threads.h"

#include <exception>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"

namespace sluice::service {

Status CallThreads::push(std::function<void()>& work) {
  // num_idle_ counts threads that a notify has not reached yet, so waiting work is compared with
  // all of them.
  if (waiting_.size() >= num_idle_ && threads_.size() < max_threads_) {
    auto thread = start_thread([this] { loop(); });
    if (thread.is_ok()) {
      threads_.push_back(std::move(*thread));
    } else if (threads_.empty()) {
      return thread.status();
    }  // else those that there are take the work
  }
  waiting_.push_back(std::move(work));
  work_.notify_one();
  return ok_status();
}

Status CallThreads::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return make_error(Code::kUnavailable, "the daemon is shutting down");
  if (waiting_.size() >= max_waiting_) {
    return make_error(Code::kUnavailable, "{} calls wait for a thread; try again later",
                      waiting_.size());
  }
  return push(work);
}

// After close(), and without any thread, the caller's does the work: nothing that must end a call
// is dropped.
void CallThreads::run_always(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_ && push(work).is_ok()) return;
  }
  work();
}

void CallThreads::close() {
  // Joined without the lock, which the threads need to see is_closed_.
  auto threads = with_lock(mutex_, [&] {
    is_closed_ = true;
    return std::exchange(threads_, {});
  });
  work_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void CallThreads::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++num_idle_;
    work_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
    --num_idle_;
    // Only a closed pool ends a thread, and only once no work waits.
    if (waiting_.empty()) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    run_now(work);
    work = nullptr;  // without the lock, because captured objects may take others
    lock.lock();
  }
}

void CallThreads::run_now(const std::function<void()>& work) const {
  try {
    work();
  } catch (const std::exception& error) {
    try {
      log_.add(LogLevel::kError, "call.failed reason={}", in_quotes(error.what()));
    } catch (const std::exception&) {  // not even memory for a line
    }
  }
}

}  // namespace sluice::service
