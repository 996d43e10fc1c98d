#include "runtime/statistics/model_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/statistics/health.h"
#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

using ::testing::HasSubstr;

TEST(ModelStatistics, CountsAnswersByCode) {
  ModelStatistics statistics;
  for (const terms::RuntimeCodeInfo& info : terms::runtime_codes())
    statistics.count_answer(info.code);
  statistics.count_answer(RuntimeCode::kTimeout);
  const ModelStatisticsSnapshot snapshot = statistics.snapshot();
  EXPECT_EQ(snapshot.num_answered(), 17);
  for (const terms::CodeCount& entry : snapshot.answered) {
    EXPECT_EQ(entry.count, entry.code == RuntimeCode::kTimeout ? 2 : 1);
  }
}

TEST(ModelStatistics, RunningRequestsNeitherWaitNorAreAnswered) {
  ModelStatistics statistics;
  for (int i = 0; i < 5; ++i) statistics.count_accepted();
  statistics.set_waiting(2);
  statistics.count_answer(RuntimeCode::kOk);
  EXPECT_EQ(statistics.snapshot().num_running(), 2);
  for (int i = 0; i < 4; ++i) statistics.count_answer(RuntimeCode::kOk);
  EXPECT_EQ(statistics.snapshot().num_running(), 0);
}

TEST(ModelStatistics, MergingAddsBothSides) {
  ModelStatistics a;
  ModelStatistics b;
  a.count_answer(RuntimeCode::kOk);
  a.record({10, 20, 30, 60});
  b.count_answer(RuntimeCode::kTimeout);
  b.count_answer(RuntimeCode::kOk);
  b.record({1, 2, 3, 6});
  ModelStatisticsSnapshot merged = a.snapshot();
  merged.merge(b.snapshot());
  EXPECT_EQ(merged.num_answered(), 3);
  EXPECT_EQ(merged.total.sum_ns(), 66);
  EXPECT_EQ(merged.compute.count(), 2);
}

TEST(ModelStatistics, RequestWithoutACopyStageHasNoTimeOfCopies) {
  ModelStatistics statistics;
  statistics.record({.compute_ns = 30});
  EXPECT_EQ(statistics.snapshot().copy.count(), 0);
  statistics.record({.copy_ns = 20, .has_copies = true});
  EXPECT_EQ(statistics.snapshot().copy.count(), 1);
  EXPECT_EQ(statistics.snapshot().compute.count(), 2);
}

TEST(ModelStatistics, CountsRunsByTheirRows) {
  ModelStatistics statistics;
  const RequestTimes times = {1, 20, 300, 400, 5};
  statistics.record_run(4, 1, times, 10);
  statistics.record_run(4, 2, times, 30);
  for (std::int64_t rows = 1000; rows < 2000; ++rows) statistics.record_run(rows, 1, times, 40);
  auto snapshot = statistics.snapshot();
  EXPECT_EQ(snapshot.runs.at(4).count, 3);
  EXPECT_EQ(snapshot.runs.at(4).copy_in_ns, 30);
  EXPECT_EQ(snapshot.runs.at(4).compute_ns, 600);
  EXPECT_EQ(snapshot.runs.at(4).copy_out_ns, 10);
  EXPECT_EQ(snapshot.num_runs(), 1003);
  EXPECT_LE(snapshot.runs.size(), 65) << "clients choose the rows";
  snapshot.merge(statistics.snapshot());
  EXPECT_EQ(snapshot.num_runs(), 2006);
  EXPECT_LE(snapshot.runs.size(), 65);
  EXPECT_EQ(snapshot.last_run_ns, 40);
}

TEST(Health, ReportsStateReasonAndRemedy) {
  ModelStatistics statistics;
  for (int i = 0; i < 1000; ++i) statistics.count_answer(RuntimeCode::kOk);
  EXPECT_EQ(health_of(statistics.snapshot(), false).state, terms::HealthState::kHealthy);
  for (int i = 0; i < 20; ++i) statistics.count_answer(RuntimeCode::kTimeout);
  const terms::Health degraded = health_of(statistics.snapshot(), false);
  EXPECT_EQ(degraded.state, terms::HealthState::kDegraded);
  EXPECT_THAT(degraded.reason, HasSubstr("20 of 1020"));
  EXPECT_FALSE(degraded.action.empty());
  const terms::Health failed = health_of(statistics.snapshot(), true);
  EXPECT_EQ(failed.state, terms::HealthState::kFailed);
  EXPECT_THAT(failed.action, HasSubstr("reset"));
}

}  // namespace
}  // namespace sluice::runtime
