#include "daemon/endurance/paired_medians.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace sluice::testing {
namespace {

/// A minute of requests of 200 us and a control of 20 us, each a little at random; `is_disturbed`:
/// for the first 40 seconds a disturbance makes both `disturbance` times slower.
double minute(double request_factor, double disturbance, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, 0.2);
  const auto medians = std::make_unique<PairedMedians>();
  for (int second = 0; second < 60; ++second) {
    const double slow = second < 40 ? disturbance : 1;
    for (int i = 0; i < 400; ++i) {
      const double request_ns = 200'000 * request_factor * slow * noise(random);
      medians->requests.add(static_cast<std::int64_t>(request_ns));
      medians->control.add(static_cast<std::int64_t>(20'000 * slow * noise(random)));
    }
    medians->end_second();
  }
  EXPECT_EQ(medians->num_seconds(), 60);
  return medians->ratio();
}

TEST(PairedMedians, SlowMachineIsNotMistakenForASlowDaemon) {
  EXPECT_NEAR(minute(1, 1.2, 1) / minute(1, 1, 2), 1, 0.03);
  EXPECT_NEAR(minute(1, 3, 3) / minute(1, 1, 4), 1, 0.03);
}

TEST(PairedMedians, SlowerDaemonIsDetected) {
  EXPECT_GT(minute(1.08, 1, 5) / minute(1, 1, 6), 1.05);
  EXPECT_GT(minute(1.08, 1, 7) / minute(1, 3, 8), 1.05) << "though the machine was slow before";
}

TEST(PairedMedians, SecondsOfFewRequestsDoNotCount) {
  const auto medians = std::make_unique<PairedMedians>();
  for (int i = 0; i < 10; ++i) medians->requests.add(1000);
  medians->end_second();
  EXPECT_EQ(medians->num_seconds(), 0);
  EXPECT_EQ(medians->ratio(), 0);
  EXPECT_EQ(medians->all_requests().count(), 10);
  EXPECT_EQ(medians->requests.count(), 0);
}

}  // namespace
}  // namespace sluice::testing
