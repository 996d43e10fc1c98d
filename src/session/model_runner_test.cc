#include "session/model_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "session/testing/fake_model.h"
#include "support/eventually.h"

namespace sluice::session {
namespace {

using sluice::testing::eventually;
using testing::doubled;
using testing::FakeModel;
using testing::floats;
using ::testing::HasSubstr;
using testing::rows;
using testing::view_of;

std::unique_ptr<ModelRunner> make(std::vector<runtime::RequestSink*> replicas,
                                  const terms::RunnerOptions& options) {
  auto runner = ModelRunner::create(std::move(replicas), options);
  EXPECT_TRUE(runner.is_ok()) << runner.status().to_string();
  return std::move(runner).value();
}

terms::RunnerOptions without_timer() {
  terms::RunnerOptions options;
  options.has_timer = false;
  return options;
}

runtime::Request request_of(std::vector<float>& x) {
  runtime::Request request;
  request.inputs = {view_of(x)};
  return request;
}

std::future<runtime::Reply> run_later(ModelRunner& runner, std::vector<float>& x) {
  auto promise = std::make_shared<std::promise<runtime::Reply>>();
  runtime::Request request = request_of(x);
  request.on_done = [promise](runtime::Reply reply) { promise->set_value(std::move(reply)); };
  auto reply = promise->get_future();
  runner.run_with_callback(std::move(request));
  return reply;
}

TEST(ModelRunner, RunsByNamesAndWaits) {
  ManualClock clock;
  FakeModel model(1, 2, clock);
  model.completes_in_wait = true;
  const auto runner = make({&model}, without_timer());
  auto x = rows(2, 1);
  std::vector<float> y(4);
  auto request = runner->make_request({{"x", view_of(x)}}, {{"y", {y.data(), 16}}});
  ASSERT_TRUE(request.is_ok()) << request.status().to_string();
  const runtime::Reply reply = runner->run(std::move(request).value());
  EXPECT_EQ(reply.code, RuntimeCode::kOk);
  EXPECT_EQ(y, doubled(x));
}

TEST(ModelRunner, UnknownAndMissingNamesAreListed) {
  ManualClock clock;
  FakeModel model(1, 2, clock);
  const auto runner = make({&model}, without_timer());
  auto x = rows(2, 1);
  EXPECT_EQ(runner->make_request({{"z", view_of(x)}}).status().message(),
            "the model has no input \"z\"; it has \"x\"");
  EXPECT_EQ(runner->make_request({}).status().message(), "input \"x\" of type f32[2,2] is missing");
  EXPECT_FALSE(runner->make_request({{"x", view_of(x)}}, {{"w", {}}}).is_ok());
}

TEST(ModelRunner, BadInputIsAnAnswerThatNamesTheTensor) {
  ManualClock clock;
  FakeModel model(1, 2, clock);
  const auto runner = make({&model}, without_timer());
  auto x = rows(3, 1);
  const runtime::Reply reply = runner->run(request_of(x));
  EXPECT_EQ(reply.code, RuntimeCode::kBadInput);
  EXPECT_EQ(reply.errors.entries()[0].message, "input \"x\": got f32[3,2], model takes f32[2,2]");
}

TEST(ModelRunner, CallbacksBringTheAnswers) {
  ManualClock clock;
  FakeModel model(2, 1, clock);
  const auto runner = make({&model}, without_timer());
  auto x = rows(1, 1);
  auto z = rows(1, 7);
  auto first = run_later(*runner, x);
  auto second = run_later(*runner, z);
  while (model.complete()) {
  }
  EXPECT_EQ(floats(first.get().outputs.at(0)), doubled(x));
  EXPECT_EQ(floats(second.get().outputs.at(0)), doubled(z));
}

TEST(ModelRunner, RefusalIsReportedThroughTheCallback) {
  ManualClock clock;
  FakeModel model(1, 2, clock);
  const auto runner = make({&model}, without_timer());
  auto x = rows(3, 1);
  runtime::Request request = request_of(x);
  RuntimeCode code = RuntimeCode::kOk;
  request.on_done = [&](const runtime::Reply& reply) { code = reply.code; };
  runner->run_with_callback(std::move(request));
  EXPECT_EQ(code, RuntimeCode::kBadInput);
}

TEST(ModelRunner, RequestsWithoutADeadlineGetTheRunners) {
  ManualClock clock;
  FakeModel model(1, 1, clock);
  terms::RunnerOptions options = without_timer();
  options.timeout_ns = 100;
  const auto runner = make({&model}, options);
  auto x = rows(1, 1);
  auto running = run_later(*runner, x);
  auto waiting = run_later(*runner, x);
  EXPECT_EQ(runner->step(), 100);
  clock.advance(100);
  (void)runner->step();
  EXPECT_EQ(waiting.get().code, RuntimeCode::kTimeout);
  model.complete();
  EXPECT_EQ(running.get().code, RuntimeCode::kOk) << "once it runs the model keeps the deadline";
}

TEST(ModelRunner, ShutdownAnswersAllRequestsAndRefusesNewOnes) {
  ManualClock clock;
  FakeModel model(1, 1, clock);
  model.completes_in_wait = true;
  const auto runner = make({&model}, {});
  auto x = rows(1, 1);
  auto running = run_later(*runner, x);
  auto waiting = run_later(*runner, x);
  runner->shutdown();
  EXPECT_EQ(running.get().code, RuntimeCode::kOk);
  EXPECT_EQ(waiting.get().code, RuntimeCode::kCancelled);
  EXPECT_EQ(runner->run(request_of(x)).code, RuntimeCode::kFailed);
  runner->shutdown();
}

/// Every caller gets the answer to its own question, or cancelled, whatever the schedule.
void run_many_callers(bool shuts_down_early) {
  FakeModel a(2, 1, system_clock());
  FakeModel b(2, 1, system_clock());
  a.completes_in_wait = b.completes_in_wait = true;
  const auto runner = make({&a, &b}, {});
  std::atomic<int> num_answers = 0;
  std::vector<std::thread> callers;
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    callers.emplace_back([&, seed] {
      for (int i = 0; i < 150; ++i) {
        auto x = rows(1, static_cast<float>(seed * 1000 + static_cast<std::uint32_t>(i)));
        const runtime::Reply reply = runner->run(request_of(x));
        const bool is_ok = reply.code == RuntimeCode::kOk;
        if (is_ok) {
          ASSERT_EQ(floats(reply.outputs.at(0)), doubled(x));
        } else {
          ASSERT_TRUE(shuts_down_early) << reply.errors.to_status().to_string();
        }
        ++num_answers;
      }
    });
  }
  if (shuts_down_early) {
    EXPECT_TRUE(eventually([&] { return num_answers >= 50; }));
    runner->shutdown();
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_answers, 600);
}

TEST(ModelRunner, ManyCallersShareReplicas) { run_many_callers(false); }
TEST(ModelRunner, ShutdownWakesAllConcurrentCallers) { run_many_callers(true); }

}  // namespace
}  // namespace sluice::session
