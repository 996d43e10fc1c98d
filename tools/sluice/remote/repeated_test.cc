#include "sluice/remote/repeated.h"

#include <gtest/gtest.h>

namespace sluice::tool {
namespace {

TEST(RepeatReport, LatencyPercentileIsNearestRank) {
  RepeatReport report;
  for (std::int64_t i = 1; i <= 100; ++i) report.figures.latencies_ns.push_back(i * 10);
  EXPECT_EQ(report.figures.latency_ns(0.5), 500);
  EXPECT_EQ(report.figures.latency_ns(0.99), 990);
  EXPECT_EQ(report.figures.latency_ns(1), 1000);
  EXPECT_EQ(report.figures.latency_ns(0.001), 10);
}

TEST(RepeatReport, WithoutSuccessesThereAreNoFigures) {
  const RepeatReport report;
  EXPECT_EQ(report.figures.latency_ns(0.5), 0);
  EXPECT_EQ(report.figures.per_second(), 0);
}

}  // namespace
}  // namespace sluice::tool
