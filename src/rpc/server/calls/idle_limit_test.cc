#include "rpc/server/calls/idle_limit.h"

#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace sluice::rpc::server {
namespace {

constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;

/// The calendar may jump by hours, so it does not count.
TEST(IdleLimit, EndsByTheMonotonicClock) {
  ManualClock clock;
  IdleLimit limit(kDayNs, clock);
  clock.advance(kDayNs - 1);
  EXPECT_EQ(limit.left_ns(), 1);
  limit.restart();
  clock.advance(1);
  EXPECT_EQ(limit.left_ns(), kDayNs - 1);
  clock.advance(kDayNs);
  EXPECT_EQ(limit.left_ns(), 0);
}

}  // namespace
}  // namespace sluice::rpc::server
