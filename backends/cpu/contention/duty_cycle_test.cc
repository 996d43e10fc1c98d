#include "contention/duty_cycle.h"

#include <gtest/gtest.h>

namespace sluice::cpu {
namespace {

constexpr std::int64_t kStepNs = 100'000;

/// Returns how long the helper works until it rests.
std::int64_t work(DutyCycle& duty, std::int64_t& now_ns, bool is_preempted) {
  const std::int64_t began_ns = now_ns;
  std::int64_t preemptions = 5;
  const auto count = [&] { return preemptions; };
  std::int64_t rest_ns = duty.rest_ns(now_ns, count);
  if (is_preempted) ++preemptions;
  while (rest_ns == 0) rest_ns = duty.rest_ns(now_ns += kStepNs, count);
  const std::int64_t worked_ns = now_ns - began_ns;
  EXPECT_EQ(rest_ns, std::min<std::int64_t>(worked_ns, 4'000'000));
  now_ns += rest_ns;
  return worked_ns;
}

TEST(DutyCycle, TurnsShrinkWithPreemptionsAndGrowWithout) {
  DutyCycle duty;
  std::int64_t now_ns = 77;
  std::int64_t last_ns = work(duty, now_ns, true);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t worked_ns = work(duty, now_ns, true);
    EXPECT_LE(worked_ns, last_ns);
    last_ns = worked_ns;
  }
  EXPECT_EQ(last_ns, 300'000);
  for (int i = 0; i < 40; ++i) last_ns = work(duty, now_ns, false);
  EXPECT_EQ(last_ns, 4'000'000);
}

}  // namespace
}  // namespace sluice::cpu
