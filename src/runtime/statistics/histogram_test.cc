#include "runtime/statistics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sluice::runtime {
namespace {

TEST(HistogramBuckets, AreInOrderAndAtMostAnEighthWide) {
  for (std::size_t i = 0; i + 1 < HistogramBuckets::kCount; ++i) {
    const std::int64_t low = HistogramBuckets::lower_bound_ns(i);
    const std::int64_t next = HistogramBuckets::lower_bound_ns(i + 1);
    ASSERT_LT(low, next);
    ASSERT_LE(next - low, std::max<std::int64_t>(1, low / 8));
    ASSERT_EQ(HistogramBuckets::index_of(low), i);
    ASSERT_EQ(HistogramBuckets::index_of(next - 1), i);
  }
}

TEST(HistogramBuckets, TakeAnyValue) {
  EXPECT_EQ(HistogramBuckets::index_of(-5), 0U);
  EXPECT_EQ(HistogramBuckets::index_of(INT64_MAX), HistogramBuckets::kCount - 1);
}

TEST(Histogram, QuantilesAreWithinABucketOfTheTruth) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> distribution(12, 1.5);
  std::vector<std::int64_t> values;
  Histogram histogram;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(static_cast<std::int64_t>(distribution(random)));
    histogram.record(values.back());
  }
  std::ranges::sort(values);
  const HistogramSnapshot snapshot = histogram.snapshot();
  for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const auto truth = static_cast<double>(values[static_cast<std::size_t>(fraction * 20000) - 1]);
    EXPECT_NEAR(static_cast<double>(snapshot.quantile_ns(fraction)), truth, truth / 8) << fraction;
  }
  EXPECT_EQ(snapshot.max_ns(), values.back());
  EXPECT_EQ(snapshot.quantile_ns(1), values.back());
}

TEST(Histogram, MergingEqualsRecordingInOne) {
  Histogram all;
  Histogram parts[2];
  for (int i = 0; i < 1000; ++i) {
    all.record(i * i);
    parts[i % 2].record(i * i);
  }
  HistogramSnapshot merged;
  for (const Histogram& part : parts) merged.merge(part.snapshot());
  const HistogramSnapshot expected = all.snapshot();
  EXPECT_EQ(merged.counts(), expected.counts());
  EXPECT_EQ(merged.count(), 1000);
  EXPECT_EQ(merged.sum_ns(), expected.sum_ns());
  EXPECT_EQ(merged.max_ns(), expected.max_ns());
}

TEST(Histogram, EmptyIsZero) {
  const HistogramSnapshot snapshot = Histogram().snapshot();
  EXPECT_EQ(snapshot.count(), 0);
  EXPECT_EQ(snapshot.quantile_ns(0.5), 0);
}

}  // namespace
}  // namespace sluice::runtime
