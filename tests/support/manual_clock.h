// A clock that a test moves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace sluice {

/// Stands still until `advance`. Waits end when it passes their deadline.
class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() const override;
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                  std::int64_t deadline_ns) override;

  /// Requires: `duration_ns` >= 0; the caller holds no mutex of a waiting thread, and those mutexes
  /// and conditions outlive the call.
  void advance(std::int64_t duration_ns);

  /// How many threads wait on this clock now: lets a test advance it only when they do.
  std::size_t num_waiting() const;

 private:
  struct Waiter {
    std::mutex* mutex;
    std::condition_variable* condition;
  };

  mutable std::mutex mutex_;
  std::int64_t now_ns_ = 0;
  std::vector<Waiter> waiters_;
};

}  // namespace sluice
