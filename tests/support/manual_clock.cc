#include "support/manual_clock.h"

#include <algorithm>

namespace sluice {

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
