#include "support/eventually.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"

namespace sluice::testing {
namespace {

using std::chrono::steady_clock;

constexpr int kYields = 100;
constexpr std::chrono::microseconds kShortest{50};
constexpr std::chrono::microseconds kLongest{5000};

}  // namespace

bool eventually(const std::function<bool()>& is_so, std::chrono::seconds limit) {
  const auto end = steady_clock::now() + limit;
  for (int i = 0; i < kYields; ++i) {
    if (is_so()) return true;
    std::this_thread::yield();
  }
  for (auto pause = kShortest; steady_clock::now() < end; pause = std::min(2 * pause, kLongest)) {
    if (is_so()) return true;
    std::this_thread::sleep_for(pause);
  }
  return is_so();
}

std::int64_t from_now_ns(std::chrono::nanoseconds time) {
  return system_clock().now_ns() + time.count();
}

void let_pass(std::int64_t time_ns) {
  while (system_clock().now_ns() <= time_ns) std::this_thread::sleep_for(kShortest);
}

void pause_for(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

}  // namespace sluice::testing
