#include "rpc/server/calls/idle_limit.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::rpc::server {
namespace {

constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;

/// The calendar may jump by hours, so it does not count.
TEST(IdleLimit, EndsByTheMonotonicClock) {
  ManualClock clock;
  std::atomic<bool> is_idle = false;
  IdleLimit limit(
      kDayNs, [&] { is_idle = true; }, clock);
  clock.advance(kDayNs - 1);
  limit.restart();
  clock.advance(1);
  EXPECT_FALSE(is_idle);
  clock.advance(kDayNs);
  EXPECT_TRUE(sluice::testing::eventually([&] { return is_idle.load(); }));
}

TEST(IdleLimit, StoppedOneSaysNothing) {
  ManualClock clock;
  bool is_idle = false;
  IdleLimit limit(
      0, [&] { is_idle = true; }, clock);
  limit.stop();
  const bool before = is_idle;
  clock.advance(kDayNs);
  EXPECT_EQ(is_idle, before);
}

}  // namespace
}  // namespace sluice::rpc::server
