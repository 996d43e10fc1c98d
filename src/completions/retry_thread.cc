#include "completions/retry_thread.h"

#include <chrono>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"

namespace sluice::completions {
namespace {

/// About a run of a small model. Nobody tells when a line has a place again.
constexpr std::chrono::milliseconds kPause{1};
constexpr std::chrono::seconds kPeriod{1};

}  // namespace

RetryThread::~RetryThread() {
  with_lock(mutex_, [&] { is_closing_ = true; });
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status RetryThread::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return make_error(Code::kFailedPrecondition, "nothing is tried again");
    SLUICE_TRY(begin());
    calls_.push_back(std::move(work));
  }
  changed_.notify_all();
  return ok_status();
}

Status RetryThread::repeat(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (repeated_) return ok_status();
    SLUICE_TRY(begin());
    repeated_ = std::move(work);
  }
  changed_.notify_all();
  return ok_status();
}

Status RetryThread::begin() {
  if (!thread_.joinable()) thread_ = SLUICE_TRY(start_thread([this] { loop(); }));
  return ok_status();
}

void RetryThread::loop() {
  const auto is_closing = [this] { return is_closing_; };
  const auto has_work = [this] { return is_closing_ || !calls_.empty(); };
  auto next = std::chrono::steady_clock::now() + kPeriod;
  std::unique_lock lock(mutex_);
  while (true) {
    if (repeated_) {
      changed_.wait_until(lock, next, has_work);
    } else {
      changed_.wait(lock, [&] { return has_work() || repeated_; });
    }
    // Also where calls come all the time.
    if (const auto now = std::chrono::steady_clock::now(); repeated_ && now >= next) {
      next = now + kPeriod;
      lock.unlock();
      repeated_();  // never changes once it is there
      lock.lock();
    }
    if (calls_.empty() && is_closing_) return;
    if (calls_.empty()) continue;
    changed_.wait_for(lock, kPause, is_closing);
    auto calls = std::exchange(calls_, {});
    lock.unlock();
    for (const auto& call : calls) call();
    calls.clear();
    lock.lock();
  }
}

}  // namespace sluice::completions
