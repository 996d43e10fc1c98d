#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice {
namespace {

using sluice::testing::eventually;

TEST(SystemClock, IsMonotonic) {
  const std::int64_t before = system_clock().now_ns();
  EXPECT_GE(system_clock().now_ns(), before);
}

TEST(DeadlineAfter, IsNeverInThePast) {
  ManualClock clock;
  clock.advance(5);
  EXPECT_EQ(deadline_after(clock, 0), 5);
  EXPECT_EQ(deadline_after(clock, 7), 12);
  EXPECT_EQ(deadline_after(clock, kNoDeadline - 5), kNoDeadline);
  EXPECT_EQ(deadline_after(clock, kNoDeadline), kNoDeadline);
  EXPECT_EQ(deadline_after(clock, -1), kNoDeadline);
}

TEST(ManualClock, StandsStillUntilAdvanced) {
  ManualClock clock;
  EXPECT_EQ(clock.now_ns(), 0);
  clock.advance(5);
  EXPECT_EQ(clock.now_ns(), 5);
}

TEST(ManualClock, WaitForThePastReturnsAtOnce) {
  ManualClock clock;
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  clock.wait_until(lock, condition, 0);
  EXPECT_EQ(clock.num_waiting(), 0U);
}

TEST(ManualClock, AdvancingEndsAWait) {
  ManualClock clock;
  std::mutex mutex;
  std::condition_variable condition;
  std::thread waiter([&] {
    std::unique_lock lock(mutex);
    while (clock.now_ns() < 100) clock.wait_until(lock, condition, 100);
  });
  EXPECT_TRUE(eventually([&] { return clock.num_waiting() != 0; }));
  clock.advance(100);
  waiter.join();
  EXPECT_EQ(clock.num_waiting(), 0U);
}

}  // namespace
}  // namespace sluice
