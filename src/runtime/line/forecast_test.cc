#include "runtime/line/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

Request request_of(std::int64_t bytes, std::int64_t deadline_ns, std::int32_t priority = 0) {
  Request request;
  request.inputs.resize(1);
  request.inputs[0].size_bytes = bytes;
  request.deadline_ns = deadline_ns;
  request.priority = priority;
  return request;
}

class ForecastTest : public ::testing::Test {
 protected:
  void run(std::int64_t duration_ns, int count = 1, std::int64_t bytes = 100) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t start_ns = now_ns_;
      now_ns_ += duration_ns;
      forecast_.complete(now_ns_);
      forecast_.note_run(Forecast::class_of(request_of(bytes, 0)), start_ns, now_ns_);
    }
  }
  Request due_in(std::int64_t ns, std::int64_t bytes = 100) const {
    return request_of(bytes, now_ns_ + ns);
  }
  bool is_hopeless(std::int64_t in_ns, std::int64_t wait_ns = 0, std::int64_t bytes = 100) {
    return forecast_.is_hopeless(due_in(in_ns, bytes), wait_ns, now_ns_);
  }

  Forecast forecast_;
  std::int64_t now_ns_ = 1'000 * kMs;
};

TEST_F(ForecastTest, SaysNothingBeforeTheFourthRun) {
  forecast_.resume(now_ns_);
  run(10 * kMs, 3);
  EXPECT_FALSE(is_hopeless(kMs));
  run(10 * kMs);
  EXPECT_TRUE(is_hopeless(kMs));
}

TEST_F(ForecastTest, SlowFirstRunDoesNotCount) {
  run(500 * kMs);
  run(10 * kMs, 3);
  EXPECT_FALSE(is_hopeless(11 * kMs));
  EXPECT_TRUE(is_hopeless(9 * kMs));
}

TEST_F(ForecastTest, RequestsAheadTakeTheirTime) {
  forecast_.resume(now_ns_);
  run(10 * kMs, 20);
  const std::int64_t wait_ns = forecast_.wait_ns(3, now_ns_);
  EXPECT_EQ(wait_ns, 40 * kMs) << "three, and the one that runs";
  EXPECT_EQ(forecast_.wait_ns(3, now_ns_ + 4 * kMs), 36 * kMs);
  EXPECT_FALSE(is_hopeless(51 * kMs, wait_ns));
  EXPECT_TRUE(is_hopeless(49 * kMs, wait_ns));
  EXPECT_THAT(forecast_.too_late("model \"m\"", due_in(49 * kMs), wait_ns, now_ns_).message(),
              HasSubstr("model \"m\": the reply may take 50.0 ms, 40.0 ms of them in the waiting "
                        "line, and the deadline is in 49.0 ms"));
}

TEST_F(ForecastTest, RequestWithoutADeadlineIsNeverLate) {
  run(10 * kMs, 20);
  const Request request = request_of(100, kNoDeadline);
  EXPECT_FALSE(forecast_.is_hopeless(request, 3'600'000 * kMs, now_ns_));
  EXPECT_FALSE(forecast_.is_risky(request, now_ns_));
}

TEST_F(ForecastTest, PauseOfTheMachineRefusesNobody) {
  run(8 * kMs, 20);
  run(500 * kMs);
  EXPECT_FALSE(is_hopeless(10 * kMs));
}

TEST_F(ForecastTest, FollowsAModelThatBecomesSlowerOrFaster) {
  run(kMs, 20);
  run(50 * kMs, 60);
  EXPECT_TRUE(is_hopeless(30 * kMs));
  run(kMs, 60);
  EXPECT_FALSE(is_hopeless(2 * kMs));
  EXPECT_FALSE(forecast_.is_risky(due_in(3 * kMs), now_ns_));
}

TEST_F(ForecastTest, RunThatWasStoppedTakesAtLeastAsLong) {
  run(kMs, 20);
  for (int i = 0; i < 60; ++i) {
    forecast_.note_stopped(Forecast::class_of(due_in(0)), now_ns_ - 40 * kMs, now_ns_);
    forecast_.note_stopped(Forecast::class_of(due_in(0)), now_ns_, now_ns_);
  }
  EXPECT_TRUE(is_hopeless(30 * kMs));
  EXPECT_FALSE(is_hopeless(45 * kMs));
}

TEST_F(ForecastTest, SizesAreJudgedByThemselves) {
  run(200 * kMs, 20, 1 << 20);
  run(kMs, 20, 1 << 10);
  EXPECT_TRUE(is_hopeless(50 * kMs, 0, 1 << 20));
  EXPECT_FALSE(is_hopeless(50 * kMs, 0, 1 << 10));
  EXPECT_FALSE(is_hopeless(1, 0, 1 << 5)) << "no run of this size yet";
}

TEST_F(ForecastTest, NumbersThatNoRunConfirmsForASecondAreForgotten) {
  run(100 * kMs, 20);
  ASSERT_TRUE(is_hopeless(50 * kMs));
  now_ns_ += 1'001 * kMs;
  EXPECT_FALSE(is_hopeless(50 * kMs));
}

TEST_F(ForecastTest, AnyNumbersAreBounded) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 100; ++i) forecast_.note_run(Forecast::class_of(due_in(0, kMax)), 0, kMax);
  forecast_.complete(kMax);
  const Request request = request_of(kMax, kMax - 1);
  const std::int64_t wait_ns = forecast_.wait_ns(65'536, kMax);
  EXPECT_TRUE(forecast_.is_hopeless(request, wait_ns, kMax));
  EXPECT_FALSE(forecast_.too_late("m", request, wait_ns, kMax).message().empty());
}

class TakeLateTest : public ForecastTest {
 protected:
  TakeLateTest() {
    // Runs of 10 ms and some more: hopeless below 10 ms, risky below some 20.
    for (int i = 0; i < 40; ++i) run((i % 2 == 0 ? 9 : 12) * kMs);
  }
  void push(std::uint64_t id, std::int64_t in_ns, std::int32_t priority = 0) {
    line_.push({id, 0, request_of(100, now_ns_ + in_ns, priority), 0});
  }
  std::vector<std::uint64_t> late() {
    std::vector<std::uint64_t> ids;
    const auto request_of = [](const PendingRequest& pending) -> const Request& {
      return pending.request;
    };
    for (const auto& pending : take_late(line_, forecast_, now_ns_, request_of)) {
      ids.push_back(pending.id);
    }
    return ids;
  }
  WaitingLine<> line_;
};

TEST_F(TakeLateTest, HopelessOnesLeaveAlwaysAndRiskyOnesWhileARivalWaits) {
  push(1, 5 * kMs);
  push(2, 13 * kMs);
  push(3, 60 * kMs);
  EXPECT_THAT(late(), ElementsAre(1, 2));
  EXPECT_EQ(line_.size(), 1);
}

TEST_F(TakeLateTest, LastRiskyOneStaysAndTheLastHopelessOneGoes) {
  push(1, 13 * kMs);
  EXPECT_THAT(late(), ElementsAre());
  line_.take_all();
  push(2, 5 * kMs);
  EXPECT_THAT(late(), ElementsAre(2));
}

TEST_F(TakeLateTest, RiskyOneStaysBeforeARequestOfLowerPriority) {
  push(1, 13 * kMs, 1);
  push(2, 60 * kMs, 0);
  EXPECT_THAT(late(), ElementsAre());
}

}  // namespace
}  // namespace sluice::runtime
