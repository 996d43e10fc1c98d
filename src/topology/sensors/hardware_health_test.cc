#include "topology/sensors/hardware_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::topology {
namespace {

using terms::HealthState;
using terms::Sensors;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

Sensors at(double degrees) { return {.temperature_c = degrees, .temperature_limit_c = 100}; }

TEST(HardwareHealth, DeviceThatTellsNothingIsHealthy) {
  HardwareHealth health;
  EXPECT_EQ(health.judge({}, 0).state, HealthState::kHealthy);
  EXPECT_EQ(health.judge({.temperature_c = 150}, 1).state, HealthState::kHealthy)
      << "of what limit?";
}

TEST(HardwareHealth, HotDeviceFailsUntilItIsCooler) {
  HardwareHealth health;
  EXPECT_EQ(health.judge(at(99.9), 0).state, HealthState::kHealthy);
  const terms::Health hot = health.judge(at(100), 1);
  EXPECT_EQ(hot.state, HealthState::kFailed);
  EXPECT_EQ(hot.reason, "it is at 100 °C, its limit is 100 °C");
  EXPECT_THAT(hot.action, HasSubstr("fans"));
  EXPECT_EQ(health.judge(at(96), 2).state, HealthState::kFailed) << "it would come and go";
  EXPECT_EQ(health.judge({}, 2).state, HealthState::kFailed) << "a read may fail";
  EXPECT_EQ(health.judge(at(94.9), 3).state, HealthState::kHealthy);
  EXPECT_EQ(health.judge(at(96), 4).state, HealthState::kHealthy);
}

TEST(HardwareHealth, HotDeviceThatTellsNothingMoreIsHotForSomeLooks) {
  HardwareHealth health;
  EXPECT_EQ(health.judge(at(100), 0).state, HealthState::kFailed);
  for (int look = 1; look < HardwareHealth::kBlindLooks; ++look) {
    EXPECT_EQ(health.judge({}, look).state, HealthState::kFailed) << look;
  }
  EXPECT_EQ(health.judge({}, HardwareHealth::kBlindLooks).state, HealthState::kHealthy);
  EXPECT_EQ(health.judge(at(96), 100).state, HealthState::kHealthy);
}

TEST(HardwareHealth, LostDataFailsTheDeviceForTenMinutes) {
  HardwareHealth health;
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 3}, 0).state, HealthState::kHealthy)
      << "before the daemon began";
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 3}, kSecond).state, HealthState::kHealthy);
  const terms::Health lost = health.judge({.num_uncorrected_errors = 4}, 2 * kSecond);
  EXPECT_EQ(lost.state, HealthState::kFailed);
  EXPECT_EQ(lost.reason, "its memory has lost data; 4 errors were not corrected so far");
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 4}, 601 * kSecond).state, HealthState::kFailed);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 4}, 602 * kSecond).state,
            HealthState::kHealthy);
}

TEST(HardwareHealth, CounterThatStartsAnewIsNoNewError) {
  HardwareHealth health;
  health.judge({.num_uncorrected_errors = 9}, 0);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 1}, 1).state, HealthState::kHealthy);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 2}, 2).state, HealthState::kFailed);
}

TEST(HardwareHealth, FirstValueOfACounterIsOldWheneverItComes) {
  HardwareHealth health;
  health.judge({}, 0);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 3, .num_throttles = 5}, 1).state,
            HealthState::kHealthy);
  EXPECT_EQ(health.judge({}, 2).state, HealthState::kHealthy);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 3, .num_throttles = 5}, 3).state,
            HealthState::kHealthy);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 4, .num_throttles = 5}, 4).state,
            HealthState::kFailed);
}

TEST(HardwareHealth, OneErrorIsWrittenAsOne) {
  HardwareHealth health;
  health.judge({.num_uncorrected_errors = 0}, 0);
  EXPECT_EQ(health.judge({.num_uncorrected_errors = 1}, 1).reason,
            "its memory has lost data; 1 error was not corrected so far");
}

TEST(HardwareHealth, DeviceThatIsSlowedAllTheTimeStaysDegraded) {
  HardwareHealth health;
  const Sensors slow = {.num_throttles = 1, .is_slowed = true};
  EXPECT_EQ(health.judge(slow, 0).state, HealthState::kDegraded) << "at the first look, too";
  EXPECT_EQ(health.judge(slow, 3600 * kSecond).state, HealthState::kDegraded);
  EXPECT_EQ(health.judge({.num_throttles = 1}, 3659 * kSecond).state, HealthState::kDegraded);
  EXPECT_EQ(health.judge({.num_throttles = 1}, 3660 * kSecond).state, HealthState::kHealthy);
}

TEST(HardwareHealth, ThrottledDeviceIsDegradedForAMinute) {
  HardwareHealth health;
  health.judge({.num_throttles = 7}, 0);
  EXPECT_EQ(health.judge({.num_throttles = 8}, kSecond).state, HealthState::kDegraded);
  EXPECT_EQ(health.judge({.num_throttles = 8}, 60 * kSecond).state, HealthState::kDegraded);
  EXPECT_EQ(health.judge({.num_throttles = 8}, 61 * kSecond).state, HealthState::kHealthy);
}

TEST(HardwareHealth, CorrectedErrorsAreNoIllness) {
  HardwareHealth health;
  health.judge({.num_corrected_errors = 0}, 0);
  EXPECT_EQ(health.judge({.num_corrected_errors = 100}, 1).state, HealthState::kHealthy);
}

TEST(HardwareHealth, FaultOfTheDriverFailsTheDeviceWhileItLasts) {
  HardwareHealth health;
  EXPECT_EQ(health.judge({.fault = "GPU is lost"}, 0).reason, "its driver says \"GPU is lost\"");
  EXPECT_EQ(health.judge({}, 1).state, HealthState::kHealthy);
}

}  // namespace
}  // namespace sluice::topology
