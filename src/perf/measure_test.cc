// Loads on a target whose answers and whose time the test decides.
#include "perf/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <utility>
#include <vector>

#include "perf/sweep.h"
#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::perf {
namespace {

using sluice::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kMs = 1'000'000;

/// Keeps requests until the test answers them.
class HeldTarget final : public Target {
 public:
  const terms::Signature& signature() const override { return signature_; }
  Status add_request(const std::vector<terms::NamedTensor>& /*inputs*/) override {
    return ok_status();
  }
  void send(std::size_t request, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      ++num_sent_;
      requests_.push_back(request);
      if (!refuses_) {
        held_.push_back(std::move(done));
        return;
      }
    }
    done(refusal_);
  }

  std::size_t num_held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  std::vector<std::size_t> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int num_sent() {
    const std::lock_guard lock(mutex_);
    return num_sent_;
  }
  void answer_all() {
    std::vector<Done> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (const Done& done : held) done(ok_status());
  }
  /// From now on, so that a load ends.
  void refuse(Code code = Code::kUnavailable) {
    {
      const std::lock_guard lock(mutex_);
      refuses_ = true;
      refusal_ = make_error(code, "no");
    }
    answer_all();
  }

 private:
  const terms::Signature signature_ = {};
  std::mutex mutex_;
  std::vector<Done> held_;
  std::vector<std::size_t> requests_;
  int num_sent_ = 0;
  bool refuses_ = false;
  Status refusal_;  ///< set before `refuses_`, never again while requests come
};

class LoadTest : public ::testing::Test {
 protected:
  /// Advances a clock on which only the load waits, once it waits.
  void pass(std::int64_t duration_ns) {
    ASSERT_TRUE(eventually([&] { return clock_.num_waiting() == 1; }));
    clock_.advance(duration_ns);
  }

  ManualClock clock_;
  HeldTarget target_;
};

TEST_F(LoadTest, ClosedLoopKeepsItsConcurrencyInFlight) {
  const auto load = Load::start(target_, {.concurrency = 4}, clock_);
  ASSERT_TRUE(eventually([&] { return target_.num_held() == 4; }));
  clock_.advance(5 * kMs);
  target_.answer_all();
  EXPECT_EQ(target_.num_held(), 4U);
  const Window window = load->take();
  EXPECT_THAT(window.latencies_ns, ElementsAre(5 * kMs, 5 * kMs, 5 * kMs, 5 * kMs));
  EXPECT_EQ(window.duration_ns, 5 * kMs);
  EXPECT_EQ(window.per_second(), 800);
  EXPECT_THAT(load->take().latencies_ns, IsEmpty());
  target_.refuse();
}

TEST_F(LoadTest, ClosedLoopPausesAfterFailures) {
  target_.refuse();
  const auto load = Load::start(target_, {.concurrency = 3}, clock_);
  pass(kMs);
  ASSERT_TRUE(eventually([&] { return target_.num_sent() == 6; }));
  const Window window = load->take();
  EXPECT_GE(window.num_failed, 3);
  EXPECT_THAT(window.first_error.to_string(), HasSubstr("no"));
  EXPECT_FALSE(is_stable(std::vector{window, window, window}, 0.1));
}

TEST_F(LoadTest, OpenLoopSendsWithoutAnswers) {
  const auto load = Load::start(target_, {.per_second = 1000}, clock_);
  ASSERT_TRUE(eventually([&] { return target_.num_held() == 1; }));
  pass(10 * kMs);
  ASSERT_TRUE(eventually([&] { return target_.num_held() == 11; }));
  // All left now, and were due before: their lateness is latency.
  target_.refuse();
  const Window window = load->take();
  ASSERT_EQ(window.latencies_ns.size(), 11U);
  EXPECT_EQ(window.latencies_ns.at(1), 9 * kMs);
  EXPECT_EQ(window.late_ns, 45 * kMs);
}

TEST_F(LoadTest, OpenLoopCountsWhatItDoesNotSend) {
  const auto load = Load::start(target_, {.per_second = 1000, .max_in_flight = 2}, clock_);
  pass(10 * kMs);
  std::int64_t num_unsent = 0;
  EXPECT_TRUE(eventually([&] { return (num_unsent += load->take().num_unsent) == 9; }));
  EXPECT_EQ(target_.num_held(), 2U);
  target_.refuse();
}

TEST_F(LoadTest, ReplaySendsEachRequestWhenItCame) {
  const auto arrivals = std::make_shared<const std::vector<std::int64_t>>(
      std::vector<std::int64_t>{0, 0, 5 * kMs, 40 * kMs});
  const auto load = Load::start(target_, {.arrivals_ns = arrivals, .num_requests = 4}, clock_);
  ASSERT_TRUE(eventually([&] { return target_.num_held() == 2; }));
  pass(4 * kMs);
  EXPECT_EQ(target_.num_held(), 2U);
  pass(10 * kMs);
  ASSERT_TRUE(eventually([&] { return target_.num_held() == 3; }));
  EXPECT_FALSE(load->is_over());
  pass(26 * kMs);
  ASSERT_TRUE(eventually([&] { return target_.num_held() == 4; }));
  EXPECT_FALSE(load->is_over());
  target_.answer_all();
  ASSERT_TRUE(eventually([&] { return load->is_over(); }));
  EXPECT_THAT(target_.requests(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(load->take().latencies_ns.size(), 4U);
}

TEST_F(LoadTest, PoissonArrivalsHaveTheirRate) {
  const auto load = Load::start(
      target_, {.per_second = 1000, .is_poisson = true, .max_in_flight = 1 << 20}, clock_);
  pass(10'000 * kMs);
  ASSERT_TRUE(eventually([&] { return clock_.num_waiting() == 1 && target_.num_sent() > 1; }));
  // Mean 10,000, standard deviation 100; the seed decides, always alike.
  EXPECT_NEAR(target_.num_sent(), 10'000, 400);
  EXPECT_NE(target_.num_sent(), 10'001);
  target_.refuse();
}

Window window_of(std::int64_t count, std::int64_t latency_ns) {
  Window window;
  window.duration_ns = 1000 * kMs;
  window.latencies_ns.assign(static_cast<std::size_t>(count), latency_ns);
  return window;
}

TEST(Measure, GoesOnAfterALateRequestAndStopsAtARefusedOne) {
  const MeasureOptions options = {.window_ns = kMs, .max_windows = kStableWindows};
  HeldTarget late;
  late.refuse(Code::kDeadlineExceeded);
  EXPECT_TRUE(measure(late, {.concurrency = 1}, options).is_ok());
  HeldTarget down;
  down.refuse();
  EXPECT_EQ(measure(down, {.concurrency = 1}, options).status().code(), Code::kUnavailable);
}

TEST(Stability, HoldsThroughputAndLatencyToTheTolerance) {
  const Window plain = window_of(100, kMs);
  EXPECT_TRUE(is_stable(std::vector{plain, window_of(109, kMs), window_of(95, kMs)}, 0.1));
  EXPECT_FALSE(is_stable(std::vector{plain, window_of(130, kMs), plain}, 0.1));
  EXPECT_FALSE(is_stable(std::vector{plain, window_of(100, 2 * kMs), plain}, 0.1));
  EXPECT_FALSE(is_stable(std::vector{plain, plain, window_of(0, 0)}, 0.1));
}

TEST(Windows, MergeTheirRequestsAndTimes) {
  Window failed = window_of(1, 10 * kMs);
  failed.num_failed = 2;
  failed.generator = {0.6, 1.0};
  const Window all = merge(std::vector{window_of(9, kMs), failed});
  EXPECT_EQ(all.per_second(), 5);
  EXPECT_EQ(all.num_failed, 2);
  EXPECT_EQ(all.latency_ns(0.5), kMs);
  EXPECT_EQ(all.latency_ns(0.99), 10 * kMs);
  EXPECT_DOUBLE_EQ(all.generator.busiest_thread, 0.3);
}

TEST(GeneratorLimit, NamesAThreadWithoutPause) {
  Window window = window_of(100, kMs);
  window.generator = {0.5, 0.6};
  EXPECT_EQ(generator_limit(window, {}, false, 2), "");
  window.generator = {0.95, 1.0};
  EXPECT_THAT(generator_limit(window, {}, false, 2), HasSubstr("95 %"));
  EXPECT_EQ(generator_limit(window, {}, true, 2), "");
  window.generator = {0.5, 1.9};
  EXPECT_THAT(generator_limit(window, {}, false, 2), HasSubstr("1.9 of 2 processors"));
}

TEST(GeneratorLimit, NamesRequestsThatLeftLate) {
  Window window = window_of(100, kMs);
  window.late_ns = 100 * kMs / 5;
  EXPECT_THAT(generator_limit(window, {.per_second = 100}, true, 2), HasSubstr("200 us late"));
  EXPECT_EQ(generator_limit(window, {}, true, 2), "");
}

TEST(Sweep, IsAListOrARange) {
  EXPECT_THAT(*parse_sweep("8"), ElementsAre(8));
  EXPECT_THAT(*parse_sweep("1,8,64"), ElementsAre(1, 8, 64));
  EXPECT_THAT(*parse_sweep("1:16:5"), ElementsAre(1, 6, 11, 16));
  EXPECT_THAT(*parse_sweep("1:3"), ElementsAre(1, 2, 3));
}

TEST(Sweep, RefusesWhatIsNoLoad) {
  for (const char* text : {"", "0", "-1", "1,", "1:", "5:1", "1:2:3:4", "1:1000000", "nan", "1e99",
                           "1;2", "1:2:0", "1,a"}) {
    EXPECT_FALSE(parse_sweep(text).is_ok()) << text;
  }
}

}  // namespace
}  // namespace sluice::perf
