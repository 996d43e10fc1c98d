#include "base/system/watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/process/with_lock.h"

namespace sluice {

Watchdog::Watchdog(OnLate on_late) : on_late_(std::move(on_late)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  with_lock(mutex_, [&] { is_over_ = true; });
  changed_.notify_one();
  thread_.join();
}

Watchdog::Watch Watchdog::watch(std::string what, std::int64_t limit_ns) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = next_id_++;
  if (limit_ns > 0) {
    const std::int64_t now_ns = system_clock().now_ns();
    // The sum must not pass kNoDeadline, the largest number.
    const std::int64_t left_ns = std::min(limit_ns, kNoDeadline - now_ns);
    watched_[id] = {now_ns + left_ns, std::move(what)};
    changed_.notify_one();
  }
  return {*this, id};
}

void Watchdog::end(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  watched_.erase(id);
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const std::int64_t now_ns = system_clock().now_ns();
    const auto first = std::ranges::min_element(
        watched_, {}, [](const auto& entry) { return entry.second.deadline_ns; });
    if (first == watched_.end()) {
      changed_.wait(lock);
    } else if (first->second.deadline_ns > now_ns) {
      changed_.wait_for(lock, std::chrono::nanoseconds(first->second.deadline_ns - now_ns));
    } else {
      const std::string what = std::move(first->second.what);
      // Each watch fires once. The callback runs without the lock: it may end the process or take
      // locks whose holders call watch().
      watched_.erase(first);
      lock.unlock();
      on_late_(what);
      lock.lock();
    }
  }
}

}  // namespace sluice
