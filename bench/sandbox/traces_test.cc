#include "traces.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::bench {
namespace {

TEST(Traces, SporadicOnesAreAlmostAlwaysIdleAndUncorrelated) {
  const TraceFigures figures = figures_of(generate_counts(Pattern::kSporadic, 20'000, 1));
  EXPECT_NEAR(figures.mean, 1.2, 0.3);
  EXPECT_NEAR(figures.zero_share, 0.976, 0.004);
  EXPECT_NEAR(figures.variation, 7.4, 0.8);
  EXPECT_NEAR(figures.autocorrelation, 0, 0.05);
}

TEST(Traces, PeriodicOnesFollowTheirWave) {
  const TraceFigures figures = figures_of(generate_counts(Pattern::kPeriodic, 20'000, 1));
  EXPECT_NEAR(figures.mean, 76, 5);
  EXPECT_NEAR(figures.zero_share, 0.506, 0.02);
  EXPECT_NEAR(figures.variation, 1.4, 0.1);
  EXPECT_NEAR(figures.autocorrelation, 0.5, 0.05);
}

TEST(Traces, BurstyOnesAreNeverIdleAndSwitchBetweenTwoRates) {
  const TraceFigures figures = figures_of(generate_counts(Pattern::kBursty, 20'000, 1));
  EXPECT_NEAR(figures.mean, 1650, 150);
  EXPECT_EQ(figures.zero_share, 0);
  EXPECT_NEAR(figures.variation, 0.82, 0.08);
  EXPECT_NEAR(figures.autocorrelation, 0.78, 0.08);
}

TEST(Traces, SeedDecidesTheTrace) {
  EXPECT_EQ(generate_counts(Pattern::kBursty, 100, 3), generate_counts(Pattern::kBursty, 100, 3));
  EXPECT_NE(generate_counts(Pattern::kBursty, 100, 3), generate_counts(Pattern::kBursty, 100, 4));
}

TEST(Traces, ArrivalsAreAscendingAndIdleSlotsLast) {
  const std::vector<std::int64_t> arrivals = arrivals_of({3, 0, 0, 2}, 1000, 1, 1);
  ASSERT_EQ(arrivals.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(arrivals));
  EXPECT_LT(arrivals[2], 1000);
  EXPECT_GE(arrivals[3], 3000);
  EXPECT_LT(arrivals[4], 4000);
}

TEST(Traces, ScaleThinsATraceInProportion) {
  const std::vector<std::int64_t> counts(10'000, 1);
  EXPECT_NEAR(static_cast<double>(arrivals_of(counts, 10, 0.3, 1).size()), 3000, 200);
  EXPECT_EQ(arrivals_of(counts, 10, 2, 1).size(), 20'000U);
}

TEST(Traces, PatternsAreFoundByTheirNames) {
  for (const Pattern pattern : {Pattern::kSporadic, Pattern::kPeriodic, Pattern::kBursty}) {
    EXPECT_EQ(find_pattern(pattern_name(pattern)), pattern);
  }
  EXPECT_EQ(find_pattern("other"), std::nullopt);
}

}  // namespace
}  // namespace sluice::bench
