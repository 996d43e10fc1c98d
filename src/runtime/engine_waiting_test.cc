// The waiting line of a model, with the threads that drive it in production.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "support/eventually.h"

namespace sluice::runtime {
namespace {

using sluice::testing::eventually;
using sluice::testing::from_now_ns;
using sluice::testing::kHang;
using testing::add_relu;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::load_of;
using testing::pretended_cpu_map;
using testing::registry;
using testing::request_of;

constexpr int kMaxWaiting = 4;

class WaitingLineTest : public ::testing::Test {
 protected:
  WaitingLineTest() {
    EngineOptions options;
    options.devices = pretended_cpu_map(4);
    engine_ = std::make_unique<testing::TestEngine>(registry(), threads_, std::move(options));
  }
  ~WaitingLineTest() override {
    release();
    engine_.reset();
  }

  /// A model of one slot, whose driver stands still until `release`: nothing leaves the line.
  void load_and_hold() {
    LoadRequest load = load_of(add_relu());
    load.depth = 1;
    load.queue_limit = kMaxWaiting;
    const auto model = engine_->load(load);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    model_ = *model;
    sink_ = engine_->sink(model_).value();
    Request request = request_of(0);
    request.on_done = [this](const Reply&) {
      held_.count_down();
      released_.wait();
    };
    ASSERT_TRUE(sink_->submit(request).is_ok());
    held_.wait();
  }
  void release() {
    if (!std::exchange(is_released_, true)) released_.count_down();
  }

  /// Submits a request that notes its number and reply.
  Result<std::uint64_t> submit(int number, std::int32_t priority = 0,
                               std::int64_t deadline_ns = kNoDeadline) {
    Request request = request_of(1);
    request.priority = priority;
    request.deadline_ns = deadline_ns;
    request.on_done = [this, number](const Reply& reply) {
      const std::lock_guard lock(mutex_);
      order_.push_back(number);
      codes_.push_back(reply.code);
    };
    return sink_->submit(request);
  }
  /// As many as the slot and the line hold.
  void fill() {
    for (int i = 0; i <= kMaxWaiting; ++i) ASSERT_TRUE(submit(i).is_ok()) << i;
  }
  std::size_t num_answered() {
    const std::lock_guard lock(mutex_);
    return codes_.size();
  }
  void wait_for(std::size_t count) {
    ASSERT_TRUE(sink_->wait([&] { return num_answered() >= count; }, from_now_ns(kHang)));
  }

  std::latch held_{1};
  std::latch released_{1};
  bool is_released_ = false;
  std::mutex mutex_;
  std::vector<int> order_;
  std::vector<RuntimeCode> codes_;
  ThreadDrivers threads_;
  std::unique_ptr<testing::TestEngine> engine_;
  terms::ModelHandle model_ = {};
  std::shared_ptr<RequestSink> sink_;
};

TEST_F(WaitingLineTest, FourCallersOfADefaultLoadAreNeverRefused) {
  const auto model = engine_->load(load_of(add_relu()));
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  ASSERT_EQ(engine_->info(*model)->depth, 2);
  EXPECT_EQ(engine_->info(*model)->queue_limit, 128);
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        if (engine_->infer(*model, request_of(1)).code != RuntimeCode::kOk) ++failures;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(engine_->statistics(*model)->refused, 0);
  EXPECT_EQ(engine_->statistics(*model)->waiting, 0);
}

TEST_F(WaitingLineTest, RequestsLeaveByPriorityThenDeadlineThenArrival) {
  load_and_hold();
  const std::int64_t hour_ns = from_now_ns(std::chrono::hours(1));
  ASSERT_TRUE(submit(1).is_ok());
  ASSERT_TRUE(submit(2, 0, hour_ns).is_ok());
  ASSERT_TRUE(submit(3, 0, hour_ns - 1).is_ok());
  ASSERT_TRUE(submit(4, 1).is_ok());
  ASSERT_TRUE(submit(5, 1).is_ok());
  release();
  wait_for(5);
  EXPECT_THAT(order_, ElementsAre(4, 5, 3, 2, 1));
  EXPECT_THAT(codes_, Each(RuntimeCode::kOk));
}

TEST_F(WaitingLineTest, FullLineRefusesAndSaysWhenToRetry) {
  load_and_hold();
  fill();
  EXPECT_EQ(engine_->statistics(model_)->waiting, kMaxWaiting);
  EXPECT_TRUE(engine_->sink(model_).value()->is_full());
  const Status refused = submit(9).status();
  EXPECT_EQ(terms::runtime_code_of(refused), RuntimeCode::kQueueFull);
  EXPECT_THAT(refused.message(),
              HasSubstr("4 requests waiting, and its queue limit is 4; retry in "));
  release();
  wait_for(kMaxWaiting + 1);
  EXPECT_THAT(codes_, Each(RuntimeCode::kOk));
  EXPECT_TRUE(submit(10).is_ok()) << "the line has room again";
  wait_for(kMaxWaiting + 2);
  EXPECT_EQ(engine_->statistics(model_)->waiting, 0);
  EXPECT_EQ(engine_->statistics(model_)->max_waiting, kMaxWaiting);
  EXPECT_EQ(engine_->statistics(model_)->refused, 1);
}

TEST_F(WaitingLineTest, DeadlineThatPassesInTheLineIsATimeout) {
  load_and_hold();
  const std::int64_t deadline_ns = from_now_ns(std::chrono::milliseconds(50));
  ASSERT_TRUE(submit(1, 0, deadline_ns).is_ok());
  ASSERT_TRUE(submit(2).is_ok());
  sluice::testing::let_pass(deadline_ns);
  release();
  wait_for(2);
  EXPECT_THAT(order_, ElementsAre(1, 2));
  EXPECT_THAT(codes_, ElementsAre(RuntimeCode::kTimeout, RuntimeCode::kOk));
}

TEST_F(WaitingLineTest, CancelInTheLineAnswersAtOnceAndMakesRoom) {
  load_and_hold();
  fill();
  ASSERT_FALSE(submit(9).is_ok());
  // Ids count up with arrival: the request of the gate was the first.
  EXPECT_TRUE(sink_->cancel(3));
  EXPECT_FALSE(sink_->cancel(3)) << "answered already";
  EXPECT_EQ(num_answered(), 1U);
  EXPECT_EQ(codes_.at(0), RuntimeCode::kCancelled);
  EXPECT_TRUE(submit(10).is_ok());
  release();
  wait_for(kMaxWaiting + 2);
}

/// Stops or unloads a model whose line is full while its driver stands still.
class EndWithFullLine : public WaitingLineTest, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Calls, EndWithFullLine, ::testing::Bool(), [](const auto& call) {
  return call.param ? std::string("Unload") : std::string("Stop");
});

TEST_P(EndWithFullLine, EveryRequestIsAnsweredOnce) {
  load_and_hold();
  fill();
  std::thread ender([&] {
    const Status ended = GetParam() ? engine_->unload(model_) : engine_->stop(model_);
    EXPECT_TRUE(ended.is_ok()) << ended.to_string();
  });
  // The line is cancelled by the thread that ends the model, without the driver.
  EXPECT_TRUE(eventually([&] { return num_answered() >= kMaxWaiting + 1; }));
  release();
  ender.join();
  EXPECT_EQ(num_answered(), kMaxWaiting + 1U);
  EXPECT_THAT(codes_, Each(RuntimeCode::kCancelled));
  EXPECT_FALSE(submit(9).is_ok());
}

TEST_F(WaitingLineTest, QueueLimitOfZeroRefusesRequestsBeyondTheDepth) {
  LoadRequest load = load_of(add_relu());
  load.queue_limit = 0;
  const auto model = engine_->load(load);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  sink_ = engine_->sink(*model).value();
  int num_refused = 0;
  // The driver answers while this thread submits, so a refusal may need more than depth + 1
  // requests.
  for (int i = 0; i < 100'000 && num_refused == 0; ++i) num_refused += submit(i).is_ok() ? 0 : 1;
  EXPECT_EQ(num_refused, 1);
  EXPECT_EQ(engine_->statistics(*model)->max_waiting, 0);
}

TEST_F(WaitingLineTest, QueueLimitsOutOfRangeAreRefused) {
  for (const int limit : {-1, 65'537}) {
    LoadRequest load = load_of(add_relu());
    load.queue_limit = limit;
    const Status status = engine_->load(load).status();
    EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr("queue_limit"));
  }
}

}  // namespace
}  // namespace sluice::runtime
