#include "completions/retry_thread.h"

#include <chrono>
#include <utility>

#include "base/process/start_thread.h"

namespace sluice::completions {
namespace {

/// About a run of a small model. Nobody tells when a line has a place again.
constexpr std::chrono::milliseconds kPause{1};

}  // namespace

RetryThread::~RetryThread() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status RetryThread::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return make_error(Code::kFailedPrecondition, "nothing is tried again");
    if (!thread_.joinable()) thread_ = SLUICE_TRY(start_thread([this] { loop(); }));
    calls_.push_back(std::move(work));
  }
  changed_.notify_all();
  return ok_status();
}

void RetryThread::loop() {
  const auto is_closing = [this] { return is_closing_; };
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closing_ || !calls_.empty(); });
    if (calls_.empty()) return;
    changed_.wait_for(lock, kPause, is_closing);
    auto calls = std::exchange(calls_, {});
    lock.unlock();
    for (const auto& call : calls) call();
    calls.clear();
    lock.lock();
  }
}

}  // namespace sluice::completions
