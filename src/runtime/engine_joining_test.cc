// Models that join waiting requests, on the cpu plug-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <limits>
#include <thread>

#include "runtime/inference/thread_driver.h"
#include "runtime/request/joined_rows.h"
#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/manual_clock.h"

namespace sluice::runtime {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kAnyRows = R"(
subgraph @0 "main" {
  input %x : f32[N,M]
  [%y : f32[N,M]] = Relu.14[%x]
  output [%y]
}
)";
/// Compiled for four rows.
constexpr std::string_view kFourRows = R"(
subgraph @0 "main" {
  input %x : f32[4,2]
  const %c : f32[2] = [1.0, 2.0]
  [%y : f32[4,2]] = Add.14[%x, %c]
  output [%y]
}
)";
/// Rows of a table; an index outside it fails the run.
constexpr std::string_view kGather = R"(
subgraph @0 "main" {
  input %i : i64[N]
  const %t : f32[3] = [10.0, 20.0, 30.0]
  [%y : f32[N]] = Gather.13[%t, %i] {axis = 0}
  output [%y]
}
)";

/// A request with the reply that it got, and how often.
struct Asked {
  std::uint64_t id = 0;
  Reply reply;
  std::atomic<int> num_replies = 0;

  std::vector<float> values() const { return testing::floats(reply.outputs.at(0)); }
};

template <typename T>
Request request(const std::vector<T>& values, std::vector<std::int64_t> dims) {
  auto memory = std::make_shared<std::vector<T>>(values);
  Request request;
  const auto size = static_cast<std::int64_t>(values.size() * sizeof(T));
  const auto element = std::is_same_v<T, float> ? ir::ElementType::kF32 : ir::ElementType::kI64;
  request.inputs = {{memory->data(), size, element, std::move(dims)}};
  request.memory_owner = memory;
  return request;
}
Request row(float value) { return request<float>({value, value}, {1, 2}); }

/// On a clock and steps of the test's own.
class EngineJoining : public ::testing::Test {
 protected:
  EngineJoining()
      : drivers_(clock_), engine_(testing::registry(), drivers_, {testing::pretended_cpu_map(1)}) {}

  void load(std::string_view graph, const terms::BatchOptions& batching, LoadRequest load = {}) {
    load.executable = testing::model_of(graph);
    load.name = "m";
    load.depth = 1;
    load.batching = batching;
    const auto model = engine_.load(load);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    model_ = *model;
    sink_ = engine_.sink(model_).value();
  }
  Asked& ask(Request request) {
    Asked& asked = asked_.emplace_back();
    request.on_done = [&asked](Reply reply) {
      asked.reply = std::move(reply);
      ++asked.num_replies;
    };
    const auto id = sink_->submit(request);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    asked.id = id.is_ok() ? *id : 0;
    return asked;
  }
  /// Steps until nothing moves; the time of the next step.
  std::int64_t run() {
    StepResult result;
    do result = drivers_.step_all();
    while (result.has_moved || result.is_running);
    return result.next_deadline_ns;
  }
  std::int64_t num_joined() { return engine_.statistics(model_)->joined; }

  std::deque<Asked> asked_;  // before the engine, whose end answers what still waits
  ManualClock clock_;
  ManualDrivers drivers_;
  Engine engine_;
  terms::ModelHandle model_{0};
  std::shared_ptr<RequestSink> sink_;
};

TEST_F(EngineJoining, WaitingRequestsRunAsOneAndEachGetsItsRows) {
  load(kAnyRows, {8, 0});
  for (int i = 0; i < 6; ++i) {
    const auto value = static_cast<float>(i);
    ask(i % 2 == 0 ? request<float>({value, -1}, {1, 2})
                   : request<float>({value, -1, value, -1}, {2, 2}));
  }
  run();
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    ASSERT_EQ(asked_[i].num_replies, 1);
    ASSERT_EQ(asked_[i].reply.code, RuntimeCode::kOk);
    const auto value = static_cast<float>(i);
    if (i % 2 == 0) {
      EXPECT_THAT(asked_[i].values(), ElementsAre(value, 0));
    } else {
      EXPECT_THAT(asked_[i].values(), ElementsAre(value, 0, value, 0));
    }
  }
  EXPECT_EQ(num_joined(), 5) << "rows 1, 2, 1, 2, 1 are seven of eight; two more do not fit";
  const auto owner = [&](std::size_t i) { return asked_[i].reply.outputs[0].owner; };
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(owner(i), owner(0)) << "one memory, no copy";
}

TEST_F(EngineJoining, RequestWaitsForOthersNoLongerThanTheDelay) {
  load(kAnyRows, {4, 1000});
  ask(row(1));
  clock_.advance(400);
  ask(row(2));
  EXPECT_EQ(run(), 1000) << "by the older of the two";
  clock_.advance(599);
  EXPECT_EQ(run(), 1000);
  EXPECT_EQ(asked_[0].num_replies, 0);
  clock_.advance(1);
  EXPECT_EQ(run(), kNoDeadline);
  EXPECT_THAT(asked_[0].values(), Each(1.0F));
  EXPECT_THAT(asked_[1].values(), Each(2.0F));
  EXPECT_EQ(num_joined(), 2);
  for (int i = 0; i < 4; ++i) ask(row(3));
  run();
  EXPECT_EQ(asked_.back().num_replies, 1) << "a full run waits for nothing";
}

TEST_F(EngineJoining, LongestDelayWaitsUntilTheRunIsFull) {
  load(kAnyRows, {2, std::numeric_limits<std::int64_t>::max()});
  clock_.advance(1);
  ask(row(1));
  EXPECT_EQ(run(), kNoDeadline);
  EXPECT_EQ(asked_[0].num_replies, 0);
  ask(row(2));
  run();
  EXPECT_EQ(num_joined(), 2);
}

TEST_F(EngineJoining, RunOfAModelWithFixedRowsIsFilledUp) {
  load(kFourRows, {0, 0});
  EXPECT_EQ(sink_->signature().inputs[0].type.to_string(), "f32[batch,2]");
  EXPECT_EQ(sink_->batch_rows(), 4);
  ask(row(1));
  run();
  EXPECT_THAT(asked_[0].values(), ElementsAre(2, 3));
  ask(row(1));
  ask(request<float>({5, 6, 7, 8}, {2, 2}));
  run();
  EXPECT_THAT(asked_[1].values(), ElementsAre(2, 3));
  EXPECT_THAT(asked_[2].values(), ElementsAre(6, 8, 8, 10));
  EXPECT_EQ(num_joined(), 2);
}

TEST_F(EngineJoining, ErrorOfOneRequestOfFixedRowsIsItsOwn) {
  constexpr std::string_view kFourIndices = R"(
subgraph @0 "main" {
  input %i : i64[4]
  const %t : f32[3] = [10.0, 20.0, 30.0]
  [%y : f32[4]] = Gather.13[%t, %i] {axis = 0}
  output [%y]
}
)";
  load(kFourIndices, {0, 0});
  for (const std::int64_t index : {1, 7, 2}) ask(request<std::int64_t>({index}, {1}));
  run();
  EXPECT_THAT(asked_[0].values(), ElementsAre(20));
  EXPECT_EQ(asked_[1].reply.code, RuntimeCode::kBadInput);
  EXPECT_THAT(asked_[1].reply.errors.to_status().message(), HasSubstr("7"));
  EXPECT_THAT(asked_[2].values(), ElementsAre(30));
  for (const Asked& one : asked_) EXPECT_EQ(one.num_replies, 1);
}

TEST_F(EngineJoining, RequestOfMoreRowsThanTheModelsPassesSeveralTimes) {
  load(kFourRows, {0, 1'000'000});
  std::vector<float> x(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::vector<float> sum(20);
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] = x[i] + (i % 2 == 0 ? 1.0F : 2.0F);
  ask(request<float>(x, {10, 2}));
  run();
  ASSERT_EQ(asked_[0].reply.code, RuntimeCode::kOk) << asked_[0].reply.errors.to_status().message();
  EXPECT_EQ(asked_[0].reply.outputs[0].view.dims, (std::vector<std::int64_t>{10, 2}));
  EXPECT_EQ(asked_[0].values(), sum);

  std::vector<float> memory(20);
  Request bound = request<float>(x, {10, 2});
  bound.outputs = {{memory.data(), 80}};
  ask(std::move(bound));
  Request small = request<float>(x, {10, 2});
  small.outputs = {{memory.data(), 79}};
  ask(std::move(small));
  run();
  EXPECT_EQ(memory, sum);
  EXPECT_EQ(asked_[1].reply.outputs[0].view.data, memory.data());
  EXPECT_EQ(asked_[2].reply.code, RuntimeCode::kOutOfResources);
  EXPECT_THAT(asked_[2].reply.errors.to_status().message(),
              HasSubstr("output \"y\" has 80 bytes, the memory bound to it 79"));
}

TEST_F(EngineJoining, CancelledOrLateRequestOfManyRowsEndsBetweenItsPasses) {
  load(kFourRows, {0, 0});
  ask(request<float>(std::vector<float>(80, 1), {40, 2}));
  Request late = request<float>(std::vector<float>(80, 1), {40, 2});
  late.deadline_ns = 50;
  drivers_.step_all();
  EXPECT_EQ(asked_[0].num_replies, 0);
  EXPECT_TRUE(sink_->cancel(asked_[0].id));
  run();
  EXPECT_EQ(asked_[0].reply.code, RuntimeCode::kCancelled);
  ask(std::move(late));
  drivers_.step_all();
  clock_.advance(50);
  run();
  EXPECT_EQ(asked_[1].reply.code, RuntimeCode::kTimeout);
}

TEST_F(EngineJoining, RequestThatFailsAJoinedRunFailsAlone) {
  load(kGather, {8, 0});
  for (const std::int64_t index : {0, 1, 99, 2}) ask(request<std::int64_t>({index}, {1}));
  run();
  for (const std::size_t good : {0, 1, 3}) {
    ASSERT_EQ(asked_[good].reply.code, RuntimeCode::kOk) << good;
  }
  EXPECT_NE(asked_[2].reply.code, RuntimeCode::kOk);
  EXPECT_THAT(asked_[3].values(), ElementsAre(30));
  for (const Asked& asked : asked_) EXPECT_EQ(asked.num_replies, 1);
  EXPECT_EQ(num_joined(), 0);
}

TEST_F(EngineJoining, NanOfOneRequestIsNotTheOthers) {
  LoadRequest flags;
  flags.nan_policy = terms::NanPolicy::kFail;
  load(kAnyRows, {8, 0}, flags);
  ask(row(1));
  ask(row(std::numeric_limits<float>::quiet_NaN()));
  ask(row(3));
  run();
  EXPECT_THAT(asked_[0].values(), Each(1.0F));
  EXPECT_EQ(asked_[1].reply.code, RuntimeCode::kNumericError);
  EXPECT_TRUE(asked_[1].reply.outputs.empty());
  EXPECT_THAT(asked_[2].values(), Each(3.0F));
}

TEST_F(EngineJoining, OtherShapesAreNotJoinedAndNoRequestIsOvertaken) {
  load(kAnyRows, {8, 1000});
  for (const std::int64_t width : {1, 1, 3, 3, 3, 1}) {
    ask(request<float>(std::vector<float>(static_cast<std::size_t>(width), 2), {1, width}));
  }
  ask(request<float>(std::vector<float>(9, 2), {9, 1}));  // more rows than a run
  ask(request<float>({1}, {1}));                          // of another rank
  run();
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_EQ(asked_[i].reply.code, RuntimeCode::kOk) << i;
    EXPECT_THAT(asked_[i].values(), Each(2.0F));
  }
  EXPECT_EQ(asked_[6].reply.outputs.at(0).view.dims[0], 9);
  EXPECT_EQ(asked_[7].reply.code, RuntimeCode::kBadInput);
  EXPECT_EQ(num_joined(), 5);
}

TEST_F(EngineJoining, WaitingAndRunningRequestsExpireAndCanBeCancelled) {
  load(kAnyRows, {4, 1000});
  Request late = row(1);
  late.deadline_ns = 100;
  ask(std::move(late));
  ask(row(2));
  ask(row(3));
  EXPECT_EQ(run(), 100);
  clock_.advance(100);
  run();
  EXPECT_EQ(asked_[0].reply.code, RuntimeCode::kTimeout);
  EXPECT_TRUE(sink_->cancel(asked_[1].id));
  EXPECT_EQ(asked_[1].reply.code, RuntimeCode::kCancelled);
  EXPECT_FALSE(sink_->cancel(asked_[1].id));
  clock_.advance(1000);
  run();
  EXPECT_THAT(asked_[2].values(), Each(3.0F));
  EXPECT_EQ(num_joined(), 0);
}

TEST_F(EngineJoining, FullLineRefusesAndSaysSo) {
  LoadRequest narrow;
  narrow.queue_limit = 1;
  load(kAnyRows, {4, 1'000'000}, narrow);
  for (int i = 0; i < 5; ++i) ask(request<float>({1, 2}, {1, 2}));
  Request more = row(1);
  EXPECT_EQ(terms::runtime_code_of(sink_->submit(more).status()), RuntimeCode::kQueueFull);
}

TEST_F(EngineJoining, EndOfTheModelAnswersWaitingRequests) {
  load(kAnyRows, {4, 1'000'000});
  ask(row(1));
  run();
  std::thread unloading([&] { EXPECT_TRUE(engine_.unload(model_, 0).is_ok()); });
  unloading.join();
  EXPECT_EQ(asked_[0].reply.code, RuntimeCode::kCancelled);
}

TEST_F(EngineJoining, ModelWithoutOneNumberOfRowsIsRefused) {
  const auto refusal = [&](std::string_view graph, const terms::BatchOptions& batching) {
    LoadRequest load = testing::load_of(testing::model_of(graph));
    load.batching = batching;
    const auto model = engine_.load(load);
    EXPECT_EQ(terms::runtime_code_of(model.status()), RuntimeCode::kInvalid);
    return model.status().message();
  };
  EXPECT_THAT(refusal(R"(
subgraph @0 "main" {
  input %x : f32[N]
  [%y : f32[1]] = ReduceMax.13[%x] {axes = [0], keepdims = 1}
  output [%y]
}
)",
                      {8, 0}),
              HasSubstr("output \"y\" is f32[1]"));
  EXPECT_THAT(refusal(kAnyRows, {0, 0}), HasSubstr("say how many make a batch"));
  EXPECT_THAT(refusal(kFourRows, {3, 0}), HasSubstr("was compiled for 4 rows"));
  EXPECT_THAT(refusal(kAnyRows, {-1, 0}), HasSubstr("batch_rows: -1 is not between 0 and 65536"));
  EXPECT_THAT(refusal(kAnyRows, {8, -1}), HasSubstr("max_delay: -1 ns is negative"));
}

TEST(EngineJoiningThreads, CancelsAndDeadlinesAmongJoinedRequestsAnswerEachOnce) {
  ThreadDrivers drivers;
  Engine engine(testing::registry(), drivers, {testing::pretended_cpu_map(1)});
  for (const terms::BatchOptions& batching :
       {terms::BatchOptions{16, 0}, terms::BatchOptions{16, 20'000}}) {
    LoadRequest load = testing::load_of(testing::model_of(kAnyRows));
    load.batching = batching;
    load.queue_limit = 1024;
    const auto model = engine.load(load);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    const auto sink = engine.sink(*model).value();
    std::atomic<int> num_answers = 0;
    std::atomic<int> num_wrong = 0;
    std::atomic<int> num_accepted = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          const auto value = static_cast<float>(t * 200 + i);
          const std::int64_t rows = 1 + i % 3;
          const auto size = static_cast<std::size_t>(512 * rows);
          Request one = request<float>(std::vector<float>(size, value), {rows, 512});
          if (i % 7 == 3) one.deadline_ns = engine.clock().now_ns() + 50'000;
          one.on_done = [&, value, size](const Reply& reply) {
            const bool is_ended =
                reply.code == RuntimeCode::kCancelled || reply.code == RuntimeCode::kTimeout;
            const bool is_right =
                reply.code == RuntimeCode::kOk &&
                testing::floats(reply.outputs[0]) == std::vector<float>(size, value);
            if (!is_ended && !is_right) ++num_wrong;
            ++num_answers;
          };
          const auto id = sink->submit(one);
          if (!id.is_ok()) continue;
          ++num_accepted;
          if (i % 5 == 1) sink->cancel(*id);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(sink->wait([&] { return num_answers == num_accepted; }, kNoDeadline));
    EXPECT_EQ(num_wrong, 0);
    ASSERT_TRUE(engine.unload(*model, kNoDeadline).is_ok());
    EXPECT_EQ(num_answers, num_accepted);
  }
}

}  // namespace
}  // namespace sluice::runtime
