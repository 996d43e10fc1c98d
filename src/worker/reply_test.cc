#include "worker/reply.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::worker {
namespace {

terms::Signature one_output() {
  terms::Signature signature;
  signature.outputs = {{"y", ir::parse_type("f32[4]").value()}};
  return signature;
}

TEST(WorkerReply, ReplyWithoutTheModelsOutputsIsAnError) {
  const auto reply = reply_of({}, one_output(), "model", false, {});
  EXPECT_EQ(reply.code, RuntimeCode::kCompletedWithError);
  EXPECT_TRUE(reply.outputs.empty());
}

TEST(WorkerReply, FailureWithoutReasonGetsADefaultReason) {
  Answer answer;
  answer.code = RuntimeCode::kTimeout;
  EXPECT_FALSE(reply_of(std::move(answer), one_output(), "model", false, {}).errors.empty());
}

/// A hostile worker reports any times; the daemon sums them in signed integers.
TEST(ToldTimes, SumsOverCoresNeverOverflow) {
  constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
  ToldTimes times;
  runtime::ModelStatistics statistics({{{terms::DeviceId(0), 512}}});
  const ToldNumbers numbers = {kMaxInt64, -1, kMaxInt64, 0};
  for (int i = 0; i < 1000; ++i) {
    const auto told = times.next(numbers, 1000);
    EXPECT_GE(told.queue_ns, 0);
    EXPECT_EQ(told.copy_ns, 0);
    statistics.record(told);
    statistics.add_busy(told.compute_ns);
    statistics.add_lane_busy(0, told.compute_ns);
  }
  const auto snapshot = statistics.snapshot();
  EXPECT_GT(snapshot.busy_ns, 0);
  EXPECT_EQ(snapshot.core_busy_ns.at(terms::DeviceId(0)), 512 * snapshot.busy_ns);
  EXPECT_GT(snapshot.compute.sum_ns(), 0);
}

TEST(ToldTimes, TimesUpToTheMeasuredDurationAreAccepted) {
  constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000'000;
  ToldTimes times;
  const ToldNumbers numbers = {0, 0, kDay, 0};
  for (int day = 0; day < 3650; ++day) ASSERT_EQ(times.next(numbers, kDay).compute_ns, kDay) << day;
}

}  // namespace
}  // namespace sluice::worker
