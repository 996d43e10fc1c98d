#include "fleet/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/testing/models.h"

namespace sluice::fleet {
namespace {

using testing::calibrated;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using testing::kMs;

TEST(Calibration, FileIsReadAsItWasWritten) {
  CalibratedModel model = calibrated("digits", 10 * kMs);
  model.batch_rows = 8;
  model.row_times = {{1, 3}, {4, 5}};
  model.request_ns = 7;
  model.memory_bytes = 1 << 30;
  model.runs.front().measured.shed = 0.125;
  const std::string text = calibration_json({model, calibrated("other", 5 * kMs)});
  const auto read = parse_calibration(text);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(calibration_json(*read), text);
  EXPECT_EQ(read->front().runs.front().measured.shed, 0.125);
}

TEST(Calibration, ErrorIsTheLargestOfItsFigures) {
  CalibrationRun run;
  run.measured = {100, 200, 0};
  run.simulated = {90, 200, 0};
  EXPECT_THAT(run.error(), DoubleNear(0.1, 1e-9));
  run.simulated = {100, 240, 0};
  EXPECT_THAT(run.error(), DoubleNear(0.2, 1e-9));
  run.simulated = {100, 200, 0.01};
  EXPECT_THAT(run.error(), DoubleNear(0.2, 1e-9)) << "relative to a share of a twentieth";
  run.measured.shed = 0.4;
  run.simulated.shed = 0.3;
  EXPECT_THAT(run.error(), DoubleNear(0.25, 1e-9));
  EXPECT_EQ(CalibratedModel().error(), 1) << "nothing was compared";
}

TEST(Calibration, DamagedFilesNameTheMember) {
  const std::string text = calibration_json({calibrated("digits", 10 * kMs)});
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string damaged = text;
    damaged.replace(damaged.find(from), from.size(), to);
    return parse_calibration(damaged).status().to_string();
  };
  EXPECT_THAT(refusal("sluice.plan.2", "sluice.plan.9"), HasSubstr("--calibrate"));
  EXPECT_THAT(refusal("\"depth\": 2", "\"depth\": 0"),
              HasSubstr("models[0].depth: 0 is not between"));
  EXPECT_THAT(refusal("\"depth\": 2", "\"depth\": \"2\""), HasSubstr("models[0].depth: expected"));
  EXPECT_THAT(refusal("\"from_ns\": 1048576", "\"from_ns\": 1048577"),
              HasSubstr("models[0].compute"));
  EXPECT_THAT(refusal("\"compute_ns\": 1100000", "\"compute_ns\": 9"), HasSubstr("a mean of 9 ns"));
  EXPECT_THAT(refusal("\"gap_ns\"", "\"gap\""), HasSubstr("models[0].gap_ns: missing"));
  EXPECT_THAT(parse_calibration("{").status().to_string(), HasSubstr("not JSON"));
  EXPECT_THAT(parse_calibration(std::string(100, '[')).status().to_string(),
              HasSubstr("within each other"));
}

TEST(Calibration, RowTimesAscendBelowTheLargestRun) {
  CalibratedModel model = calibrated("m", 10 * kMs);
  model.batch_rows = 8;
  const auto refusal = [&](const std::vector<RowTime>& times) {
    model.row_times = times;
    return parse_calibration(calibration_json({model})).status().to_string();
  };
  EXPECT_EQ(refusal({{1, 10}, {7, 10}}), ok_status().to_string());
  EXPECT_THAT(refusal({{8, 10}}), HasSubstr("row_times[0].rows: 8 is not between 1 and 7"));
  EXPECT_THAT(refusal({{2, 10}, {2, 10}}), HasSubstr("row_times[1].rows: 2 is not between 3"));
  EXPECT_THAT(refusal({{1, 0}}), HasSubstr("row_times[0].compute_ns: 0 is not between 1"));
}

TEST(Calibration, TimesOfRowsLieOnLinesBetweenMeasuredOnes) {
  CalibratedModel model = calibrated("m", 10 * kMs);
  EXPECT_EQ(model.run_ns(5), model.compute_ns) << "nothing is joined";
  model.batch_rows = 8;
  EXPECT_EQ(model.run_ns(5), model.compute_ns) << "nothing is known of fewer rows";
  model.compute_ns = 1000;
  model.row_times = {{2, 100}, {4, 200}};
  EXPECT_EQ(model.run_ns(1), 100);
  EXPECT_EQ(model.run_ns(2), 100);
  EXPECT_EQ(model.run_ns(3), 150);
  EXPECT_EQ(model.run_ns(4), 200);
  EXPECT_EQ(model.run_ns(6), 600);
  EXPECT_EQ(model.run_ns(8), 1000);
  EXPECT_EQ(model.run_ns(16), 2000) << "two passes";
}

TEST(Calibration, ModelMayNotComeTwice) {
  const std::string text = calibration_json({calibrated("a", 5 * kMs), calibrated("a", 6 * kMs)});
  EXPECT_THAT(parse_calibration(text).status().to_string(), HasSubstr("\"a\" comes twice"));
}

TEST(ServiceTimes, HaveTheMeanThatWasRecorded) {
  const std::vector<terms::Latency::Bucket> buckets = {{1 << 20, 900}, {1 << 23, 100}};
  const auto times = ServiceTimes::create(buckets, 1'800'000);
  ASSERT_TRUE(times.is_ok());
  Random random(7);
  double sum = 0;
  int num_long = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto drawn = static_cast<double>(times->draw_ns(random));
    sum += drawn;
    if (drawn > 4e6) ++num_long;
  }
  EXPECT_NEAR(sum / 100'000, 1'800'000, 20'000);
  EXPECT_NEAR(num_long, 10'000, 500);
}

TEST(ServiceTimes, BucketsThatNoHistogramHasAreRefused) {
  const auto refusal = [](const std::vector<terms::Latency::Bucket>& buckets) {
    return ServiceTimes::create(buckets, 1'100'000).status().to_string();
  };
  EXPECT_THAT(refusal({}), HasSubstr("without times"));
  EXPECT_THAT(refusal({{-1, 1}}), HasSubstr("-1 ns"));
  EXPECT_THAT(refusal({{1 << 20, 0}}), HasSubstr("0 times"));
  EXPECT_THAT(refusal({{1 << 20, 1}, {1 << 20, 1}}), HasSubstr("1048576 ns"));
  EXPECT_THAT(refusal({{INT64_MAX, 1}}), HasSubstr("cannot be in"));
}

TEST(ServiceTimes, DifferenceHasWhatWasAdded) {
  const std::vector<terms::Latency::Bucket> before = {{8, 5}, {16, 2}};
  const std::vector<terms::Latency::Bucket> now = {{8, 5}, {16, 3}, {32, 1}};
  const auto added = added_since(before, now);
  ASSERT_EQ(added.size(), 2U);
  EXPECT_EQ(added[0].bound_ns, 16);
  EXPECT_EQ(added[0].count, 1);
  EXPECT_EQ(added[1].bound_ns, 32);
}

}  // namespace
}  // namespace sluice::fleet
