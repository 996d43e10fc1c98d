// Time that tests can replace. No other code of the project reads the system's clocks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>

namespace sluice {

/// A deadline that never passes.
inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

/// Nanoseconds since a start of its own, never going back; and waiting by them. Safe across
/// threads.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual std::int64_t now_ns() const = 0;

  /// Waits on `condition` until somebody notifies it or this clock reaches `deadline_ns`; may wake
  /// for no reason, so callers loop.
  /// Requires: `lock` holds the mutex that goes with `condition`.
  virtual void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                          std::int64_t deadline_ns) = 0;
};

/// The end of a time from now on; kNoDeadline for a negative time, and for one that ends behind it.
inline std::int64_t deadline_after(const Clock& clock, std::int64_t timeout_ns) {
  const std::int64_t now_ns = clock.now_ns();
  return timeout_ns < 0 || timeout_ns > kNoDeadline - now_ns ? kNoDeadline : now_ns + timeout_ns;
}

/// The machine's monotonic clock; one for everybody.
Clock& system_clock();

/// The calendar's time, since 1970, UTC. It may jump: for dates alone.
std::int64_t unix_time_seconds();

}  // namespace sluice
