#include "base/clock.h"

#include <algorithm>
#include <chrono>

namespace sluice {
namespace {

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                  std::int64_t deadline_ns) override {
    if (deadline_ns == kNoDeadline) return condition.wait(lock);
    const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    condition.wait_until(lock, deadline);
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::int64_t unix_time_seconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::int64_t ManualClock::now_ns() const {
  const std::lock_guard own(mutex_);
  return now_ns_;
}

void ManualClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                             std::int64_t deadline_ns) {
  {
    const std::lock_guard own(mutex_);
    if (now_ns_ >= deadline_ns) return;
    waiters_.push_back({lock.mutex(), &condition});
  }
  condition.wait(lock);
  const std::lock_guard own(mutex_);
  const auto is_this = [&](const Waiter& waiter) {
    return waiter.mutex == lock.mutex() && waiter.condition == &condition;
  };
  const auto it = std::ranges::find_if(waiters_, is_this);
  if (it != waiters_.end()) waiters_.erase(it);
}

void ManualClock::advance(std::int64_t duration_ns) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard own(mutex_);
    now_ns_ += duration_ns;
    waiters = waiters_;
  }
  // Locking a waiter's mutex ensures that it is in wait(), so that the notification cannot be lost.
  for (const Waiter& waiter : waiters) {
    { const std::lock_guard theirs(*waiter.mutex); }
    waiter.condition->notify_all();
  }
}

std::size_t ManualClock::num_waiting() const {
  const std::lock_guard own(mutex_);
  return waiters_.size();
}

}  // namespace sluice
