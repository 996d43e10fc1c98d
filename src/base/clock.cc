#include "base/clock.h"

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

}  // namespace sluice
