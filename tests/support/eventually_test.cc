#include "support/eventually.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sluice::testing {
namespace {

TEST(Eventually, ReturnsAtTheFirstLookThatHolds) {
  int looks = 0;
  EXPECT_TRUE(eventually([&] { return ++looks == 3; }));
  EXPECT_EQ(looks, 3);
}

TEST(Eventually, SeesWhatAnotherThreadDoes) {
  std::atomic<bool> is_done = false;
  std::thread other([&] {
    pause_for(std::chrono::milliseconds(20));
    is_done = true;
  });
  EXPECT_TRUE(eventually([&] { return is_done.load(); }));
  other.join();
}

TEST(Eventually, EndsAtItsLimitAndLooksOnceMore) {
  int looks = 0;
  EXPECT_FALSE(eventually([&] { return ++looks < 0; }, std::chrono::seconds(0)));
  EXPECT_GT(looks, 1);
}

TEST(Eventually, LetsADeadlinePass) {
  const std::int64_t deadline_ns = from_now_ns(std::chrono::microseconds(300));
  let_pass(deadline_ns);
  EXPECT_GT(from_now_ns(std::chrono::nanoseconds(0)), deadline_ns);
}

}  // namespace
}  // namespace sluice::testing
