// Functions on the real cpu plug-in and real threads.
#include "sandbox/function_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "support/eventually.h"

namespace sluice::sandbox {
namespace {

using runtime::Reply;
using runtime::testing::add_relu;
using runtime::testing::add_relu_in;
using runtime::testing::floats;
using runtime::testing::load_of;
using runtime::testing::request_of;
using sluice::testing::eventually;
using terms::ModelHandle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FunctionHostTest : public ::testing::Test {
 protected:
  FunctionHostTest()
      : engine_(runtime::testing::registry(), drivers_, {runtime::testing::pretended_cpu_map(4)}),
        host_(engine_, {}) {}

  ModelHandle deploy(const std::string& name, const terms::FunctionOptions& options = {}) {
    const auto handle = host_.deploy(load_of(executable_, name), options);
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    return handle.is_ok() ? *handle : ModelHandle{0};
  }
  Reply infer(ModelHandle handle, float value) {
    const auto sink = host_.sink(handle);
    if (!sink.is_ok()) return {terms::runtime_code_of(sink.status()), {}, {}, {}};
    return runtime::infer(**sink, request_of(value));
  }
  terms::FunctionState state(ModelHandle handle) { return host_.state(handle).value(); }
  /// Waits, because a step after the last reply unloads.
  bool becomes(ModelHandle handle, terms::FunctionPhase phase) {
    return eventually([&] { return state(handle).phase == phase; });
  }

  runtime::ThreadDrivers drivers_;
  runtime::Engine engine_;
  const std::shared_ptr<const package::Executable> executable_ = add_relu();
  FunctionHost host_;
};

TEST_F(FunctionHostTest, ManyFunctionsShareOneCoreAndEachAnswersItsOwnRequests) {
  std::vector<ModelHandle> handles;
  for (int i = 0; i < 8; ++i) handles.push_back(deploy(fmt::format("f{}", i)));
  EXPECT_EQ(engine_.num_free_cores(), 3);
  std::vector<std::thread> threads;
  std::atomic<int> num_right = 0;
  for (const ModelHandle handle : handles) {
    threads.emplace_back([&, handle] {
      for (int i = 0; i < 50; ++i) {
        const Reply reply = infer(handle, static_cast<float>(i + 2));
        if (reply.code == RuntimeCode::kOk && floats(reply.outputs[0])[0] == float(i + 3)) {
          ++num_right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_right, 400);
  for (const ModelHandle handle : handles) {
    EXPECT_EQ(state(handle).num_requests, 50);
    EXPECT_EQ(host_.statistics(handle)->num_answered(), 50);
    EXPECT_TRUE(host_.unload(handle, 0).is_ok());
  }
  EXPECT_EQ(engine_.num_free_cores(), 4) << "a lane without functions gives its cores back";
  EXPECT_TRUE(engine_.list_models().empty());
}

TEST_F(FunctionHostTest, ShortRequestThatIsAloneRunsOnTheThreadThatWaitsForIt) {
  const ModelHandle handle = deploy("alone");
  const auto sink = *host_.sink(handle);
  // Another thread takes the first requests, until their time is known, and any during its own
  // step.
  EXPECT_TRUE(eventually([&] {
    std::thread::id runner;
    std::atomic<bool> is_done = false;
    runtime::Request request = request_of(1);
    request.will_wait = true;
    request.on_done = [&](const Reply& /*reply*/) {
      runner = std::this_thread::get_id();
      is_done = true;
    };
    EXPECT_TRUE(sink->submit(request).is_ok());
    EXPECT_TRUE(sink->wait([&] { return is_done.load(); }, kNoDeadline));
    return runner == std::this_thread::get_id();
  }));
}

/// Requests of a function that follow each other: it always has some waiting.
class Busy {
 public:
  Busy(std::shared_ptr<runtime::RequestSink> sink, std::atomic<bool>& is_over)
      : sink_(std::move(sink)), is_over_(is_over) {
    for (int i = 0; i < 4; ++i) send();
  }
  bool is_idle() const { return num_in_flight_ == 0; }

 private:
  void send() {
    ++num_in_flight_;
    runtime::Request request = request_of(1);
    request.on_done = [this](const Reply& /*reply*/) {
      if (!is_over_) send();
      --num_in_flight_;
    };
    EXPECT_TRUE(sink_->submit(request).is_ok());
  }

  std::shared_ptr<runtime::RequestSink> sink_;
  std::atomic<bool>& is_over_;
  std::atomic<int> num_in_flight_ = 0;
};

TEST_F(FunctionHostTest, BusyFunctionsGetTheirSharesOfTheLaneWithinFivePercent) {
  const std::array<std::int32_t, 3> shares = {1, 2, 5};
  std::vector<ModelHandle> handles;
  for (const std::int32_t share : shares) {
    handles.push_back(deploy(fmt::format("share {}", share), {.share = share}));
  }
  std::atomic<bool> is_over = false;
  std::vector<std::unique_ptr<Busy>> busy;
  for (const ModelHandle handle : handles) {
    busy.push_back(std::make_unique<Busy>(host_.sink(handle).value(), is_over));
  }
  // A processor that is taken away in the middle of a turn makes that turn long. The lane makes up
  // for it in the next ones: the shares come near to what was asked for, and stay there.
  constexpr std::int64_t kLeastNs = 300'000'000;
  std::array<double, 3> used = {};
  const auto are_right = [&] {
    std::int64_t total_ns = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      used.at(i) = static_cast<double>(state(handles[i]).busy_ns);
      total_ns += state(handles[i]).busy_ns;
    }
    bool is_right = total_ns >= kLeastNs;
    for (std::size_t i = 0; i < 3; ++i) {
      used.at(i) /= static_cast<double>(std::max<std::int64_t>(total_ns, 1));
      is_right = is_right && std::abs(used.at(i) - shares.at(i) / 8.0) <= 0.05;
    }
    return is_right;
  };
  EXPECT_TRUE(eventually(are_right)) << used[0] << " " << used[1] << " " << used[2];
  is_over = true;
  for (const auto& one : busy) {
    EXPECT_TRUE(eventually([&] { return one->is_idle(); }));
  }
}

TEST_F(FunctionHostTest, FunctionScalesToZeroAfterItsKeepWarmTimeAndStartsAgain) {
  const ModelHandle handle = deploy("f", {.keep_warm_ns = 0});
  ASSERT_TRUE(becomes(handle, terms::FunctionPhase::kCold));
  EXPECT_EQ(state(handle).held_bytes, 0);
  EXPECT_TRUE(engine_.list_models().empty());
  EXPECT_EQ(infer(handle, 2).code, RuntimeCode::kOk);
  EXPECT_EQ(state(handle).num_starts, 2);
  EXPECT_TRUE(becomes(handle, terms::FunctionPhase::kCold));
  EXPECT_EQ(host_.statistics(handle)->num_answered(), 1) << "counters outlive the unload";
}

TEST_F(FunctionHostTest, StartMakesAFunctionWarmAndStopMakesItCold) {
  const ModelHandle handle = deploy("f", {.keep_warm_ns = terms::kAlwaysWarm});
  EXPECT_EQ(state(handle).phase, terms::FunctionPhase::kWarm);
  EXPECT_GT(state(handle).held_bytes, 0);
  ASSERT_TRUE(host_.stop(handle, 0).is_ok());
  EXPECT_EQ(state(handle).phase, terms::FunctionPhase::kCold);
  ASSERT_TRUE(host_.start(handle).is_ok());
  EXPECT_EQ(state(handle).phase, terms::FunctionPhase::kWarm);
  EXPECT_EQ(state(handle).num_starts, 2);
}

TEST_F(FunctionHostTest, QuotaRefusesAFunctionThatTakesMore) {
  const auto handle = host_.deploy(load_of(executable_, "big"), {.memory_bytes = 1});
  ASSERT_FALSE(handle.is_ok());
  EXPECT_EQ(terms::runtime_code_of(handle.status()), RuntimeCode::kOutOfResources);
  EXPECT_THAT(handle.status().message(), HasSubstr("quota"));
  EXPECT_EQ(engine_.num_free_cores(), 4);
  deploy("small", {.memory_bytes = 1 << 20});
}

TEST_F(FunctionHostTest, BadInputIsAnsweredAndTheFunctionGoesOn) {
  const ModelHandle handle = deploy("f");
  runtime::Request request = request_of(1);
  request.inputs.clear();
  const Reply reply = runtime::infer(**host_.sink(handle), std::move(request));
  EXPECT_EQ(reply.code, RuntimeCode::kBadInput);
  EXPECT_EQ(infer(handle, 2).code, RuntimeCode::kOk);
}

TEST_F(FunctionHostTest, DeploymentThatCannotBeLoadedLeavesNothingBehind) {
  runtime::LoadRequest request = load_of(add_relu("no-such-backend"), "f");
  EXPECT_FALSE(host_.deploy(request, {}).is_ok());
  request = load_of(executable_, "f");
  request.group = terms::CoreGroupId(1);
  EXPECT_EQ(terms::runtime_code_of(host_.deploy(request, {}).status()), RuntimeCode::kInvalid);
  EXPECT_FALSE(host_.deploy(load_of(executable_, "f"), {.share = 0}).is_ok());
  EXPECT_TRUE(host_.list_models().empty());
  EXPECT_EQ(engine_.num_free_cores(), 4);
}

TEST_F(FunctionHostTest, RemovalAnswersEveryRequestOnce) {
  const ModelHandle handle = deploy("f");
  const auto sink = host_.sink(handle).value();
  std::atomic<int> num_answers = 0;
  int num_accepted = 0;
  for (int i = 0; i < 60; ++i) {
    runtime::Request request = request_of(1);
    request.on_done = [&](const Reply&) { ++num_answers; };
    num_accepted += sink->submit(request).is_ok() ? 1 : 0;
  }
  ASSERT_TRUE(host_.unload(handle, 0).is_ok());
  EXPECT_EQ(num_answers, num_accepted);
  runtime::Request late = request_of(1);
  EXPECT_EQ(terms::runtime_code_of(sink->submit(late).status()), RuntimeCode::kInvalidHandle);
  EXPECT_FALSE(host_.state(handle).is_ok());
}

TEST_F(FunctionHostTest, FullLineRefusesAndSaysSo) {
  runtime::LoadRequest load = load_of(executable_, "f");
  load.queue_limit = 0;
  const ModelHandle handle = host_.deploy(load, {}).value();
  const auto sink = host_.sink(handle).value();
  // The first request's on_done holds the lane until the others have come.
  std::atomic<bool> may_go_on = false;
  std::atomic<bool> is_held = false;
  runtime::Request first = request_of(1);
  first.on_done = [&](const Reply&) {
    is_held = true;
    EXPECT_TRUE(eventually([&] { return may_go_on.load(); }));
  };
  ASSERT_TRUE(sink->submit(first).is_ok());
  EXPECT_TRUE(eventually([&] { return is_held.load(); }));
  std::atomic<int> num_answers = 0;
  const auto submit = [&] {
    runtime::Request request = request_of(1);
    request.on_done = [&](const Reply&) { ++num_answers; };
    return sink->submit(request);
  };
  EXPECT_FALSE(sink->is_full());
  EXPECT_TRUE(submit().is_ok()) << "the place of the next turn";
  EXPECT_TRUE(sink->is_full());
  const auto refused = submit();
  EXPECT_EQ(terms::runtime_code_of(refused.status()), RuntimeCode::kQueueFull);
  may_go_on = true;
  host_.shutdown(kNoDeadline);
  EXPECT_EQ(num_answers, 1);
}

TEST_F(FunctionHostTest, WaitingRequestsLeaveByPriorityThenDeadlineThenArrival) {
  const ModelHandle handle = deploy("f");
  const auto sink = host_.sink(handle).value();
  std::atomic<bool> may_go_on = false;
  std::atomic<bool> is_held = false;
  runtime::Request first = request_of(1);
  first.on_done = [&](const Reply&) {
    is_held = true;
    EXPECT_TRUE(eventually([&] { return may_go_on.load(); }));
  };
  ASSERT_TRUE(sink->submit(first).is_ok());
  EXPECT_TRUE(eventually([&] { return is_held.load(); }));
  std::mutex mutex;
  std::vector<int> order;
  const auto wait_in_line = [&](int name, std::int32_t priority, std::int64_t deadline_ns) {
    runtime::Request request = request_of(1);
    request.priority = priority;
    request.deadline_ns = deadline_ns;
    request.on_done = [&, name](const Reply&) {
      const std::lock_guard lock(mutex);
      order.push_back(name);
    };
    ASSERT_TRUE(sink->submit(request).is_ok());
  };
  const std::int64_t hour_ns = host_.clock().now_ns() + 3'600'000'000'000;
  wait_in_line(1, 0, kNoDeadline);
  wait_in_line(2, 0, hour_ns);
  wait_in_line(3, 1, kNoDeadline);
  wait_in_line(4, 0, hour_ns - 1);
  may_go_on = true;
  host_.shutdown(kNoDeadline);
  EXPECT_THAT(order, ElementsAre(3, 4, 2, 1));
}

TEST_F(FunctionHostTest, RequestThatWouldBeLateIsRefusedAtOnce) {
  const ModelHandle handle = deploy("f");
  const auto sink = host_.sink(handle).value();
  constexpr std::int64_t kRunNs = 20'000'000;
  // A turn ends after its callbacks, so that these make it long.
  const auto slow_run = [&](std::atomic<int>& num_started) {
    runtime::Request request = request_of(1);
    request.on_done = [&](const Reply&) {
      const std::int64_t until_ns = host_.clock().now_ns() + kRunNs;
      ++num_started;
      EXPECT_TRUE(eventually([&] { return host_.clock().now_ns() >= until_ns; }));
    };
    return sink->submit(request);
  };
  // Repeated, because a forecast is trusted for a second, in which a busy machine may not come
  // here.
  const bool is_refused = eventually([&] {
    std::atomic<int> num_started = 0;
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(slow_run(num_started).is_ok());
    EXPECT_TRUE(eventually([&] { return num_started == 5; }));
    runtime::Request late = request_of(1);
    late.deadline_ns = host_.clock().now_ns() + kRunNs / 2;
    const auto id = sink->submit(late);
    if (id.is_ok()) return false;
    EXPECT_EQ(terms::runtime_code_of(id.status()), RuntimeCode::kTimeout);
    return id.status().message().find("function \"f\": the reply may take") == 0;
  });
  EXPECT_TRUE(is_refused);
  host_.shutdown(kNoDeadline);
}

TEST_F(FunctionHostTest, TimeInTheLineCountsAsQueueTime) {
  const ModelHandle handle = deploy("f");
  const auto sink = host_.sink(handle).value();
  std::atomic<bool> may_go_on = false;
  std::atomic<bool> is_held = false;
  runtime::Request first = request_of(1);
  first.on_done = [&](const Reply&) {
    is_held = true;
    EXPECT_TRUE(eventually([&] { return may_go_on.load(); }));
  };
  ASSERT_TRUE(sink->submit(first).is_ok());
  EXPECT_TRUE(eventually([&] { return is_held.load(); }));
  std::atomic<std::int64_t> queue_ns = 0;
  runtime::Request second = request_of(1);
  second.wants_detail = true;
  second.on_done = [&](const Reply& reply) { queue_ns = reply.detail.queue_ns; };
  ASSERT_TRUE(sink->submit(second).is_ok());
  const std::int64_t since_ns = host_.clock().now_ns();
  EXPECT_TRUE(eventually([&] { return host_.clock().now_ns() - since_ns > 5'000'000; }));
  const std::int64_t waited_ns = host_.clock().now_ns() - since_ns;
  may_go_on = true;
  EXPECT_TRUE(eventually([&] { return queue_ns != 0; }));
  EXPECT_GE(queue_ns, waited_ns);
  EXPECT_TRUE(eventually([&] { return host_.statistics(handle)->queue.count() == 2; }));
  EXPECT_GE(host_.statistics(handle)->queue.sum_ns(), waited_ns);
}

TEST_F(FunctionHostTest, WaitingRequestIsCancelledAndExpires) {
  const ModelHandle handle = deploy("f");
  const auto sink = host_.sink(handle).value();
  std::atomic<bool> may_go_on = false;
  std::atomic<bool> is_held = false;
  runtime::Request first = request_of(1);
  first.on_done = [&](const Reply&) {
    is_held = true;
    EXPECT_TRUE(eventually([&] { return may_go_on.load(); }));
  };
  ASSERT_TRUE(sink->submit(first).is_ok());
  EXPECT_TRUE(eventually([&] { return is_held.load(); }));
  std::atomic<RuntimeCode> cancelled = RuntimeCode::kOk;
  std::atomic<RuntimeCode> expired = RuntimeCode::kOk;
  runtime::Request second = request_of(1);
  second.on_done = [&](const Reply& reply) { cancelled = reply.code; };
  runtime::Request third = request_of(1);
  third.deadline_ns = host_.clock().now_ns() + 1'000'000;
  third.on_done = [&](const Reply& reply) { expired = reply.code; };
  const auto second_id = sink->submit(second);
  ASSERT_TRUE(second_id.is_ok());
  ASSERT_TRUE(sink->submit(third).is_ok());
  EXPECT_TRUE(sink->cancel(*second_id));
  EXPECT_EQ(cancelled, RuntimeCode::kCancelled);
  EXPECT_FALSE(sink->cancel(*second_id)) << "answered already";
  sluice::testing::let_pass(third.deadline_ns);
  may_go_on = true;
  host_.shutdown(kNoDeadline);
  EXPECT_EQ(expired, RuntimeCode::kTimeout);
}

TEST_F(FunctionHostTest, ShutdownAnswersWhatWaitsAndRefusesTheRest) {
  const ModelHandle handle = deploy("f");
  const auto sink = host_.sink(handle).value();
  host_.shutdown(0);
  runtime::Request request = request_of(1);
  EXPECT_FALSE(sink->submit(request).is_ok());
  EXPECT_FALSE(host_.deploy(load_of(executable_, "g"), {}).is_ok());
  EXPECT_EQ(engine_.num_free_cores(), 4);
}

/// Two places, which more functions share.
class FunctionPlacesTest : public FunctionHostTest {
 protected:
  FunctionPlacesTest() {
    for (int i = 0; i < 3; ++i) {
      const auto load = load_of(executable_, fmt::format("f{}", i));
      handles_.push_back(places_.deploy(load, {.keep_warm_ns = terms::kAlwaysWarm}).value());
      sinks_.push_back(places_.sink(handles_.back()).value());
    }
  }
  ~FunctionPlacesTest() override { places_.shutdown(kNoDeadline); }

  /// `on_done` is a part of the turn.
  void ask(std::size_t function, std::function<void()> on_done) {
    runtime::Request request = request_of(1);
    request.on_done = [on_done = std::move(on_done)](const Reply& reply) {
      EXPECT_EQ(reply.code, RuntimeCode::kOk);
      on_done();
    };
    EXPECT_TRUE(sinks_[function]->submit(request).is_ok());
  }

  FunctionHost places_{engine_, {.num_lanes = 2}};
  std::vector<ModelHandle> handles_;
  std::vector<std::shared_ptr<runtime::RequestSink>> sinks_;
};

TEST_F(FunctionPlacesTest, AnyTwoFunctionsRunAtTheSameTime) {
  EXPECT_EQ(engine_.num_free_cores(), 2);
  for (const auto& [one, other] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
    std::atomic<int> num_begun = 0;
    std::atomic<int> num_ended = 0;
    const auto meet = [&] {
      ++num_begun;
      EXPECT_TRUE(eventually([&] { return num_begun == 2; }));
      ++num_ended;
    };
    ask(static_cast<std::size_t>(one), meet);
    ask(static_cast<std::size_t>(other), meet);
    EXPECT_TRUE(eventually([&] { return num_ended == 2; }));
  }
}

TEST_F(FunctionPlacesTest, TurnsOfOneFunctionDoNotOverlap) {
  constexpr int kRequests = 40;
  std::atomic<int> num_running = 0;
  std::atomic<int> num_done = 0;
  for (int round = 0; round < 20; ++round) {
    num_done = 0;
    for (int i = 0; i < kRequests; ++i) {
      ask(1, [&] {
        EXPECT_EQ(++num_running, 1);
        std::this_thread::yield();
        --num_running;
        ++num_done;
      });
    }
    EXPECT_TRUE(eventually([&] { return num_done == kRequests; }));
  }
}

TEST_F(FunctionPlacesTest, OtherFunctionsComeAndGoDuringATurn) {
  std::atomic<bool> may_go_on = false;
  std::atomic<bool> is_held = false;
  ask(0, [&] {
    is_held = true;
    EXPECT_TRUE(eventually([&] { return may_go_on.load(); }));
  });
  EXPECT_TRUE(eventually([&] { return is_held.load(); }));
  EXPECT_TRUE(places_.stop(handles_[1], 0).is_ok());
  EXPECT_TRUE(places_.start(handles_[1]).is_ok());
  EXPECT_TRUE(places_.deploy(load_of(executable_, "new"), {}).is_ok());
  EXPECT_TRUE(places_.unload(handles_[2], 0).is_ok());
  EXPECT_EQ(places_.state(handles_[0])->phase, terms::FunctionPhase::kRunning);
  may_go_on = true;
  EXPECT_TRUE(
      eventually([&] { return places_.state(handles_[0])->phase == terms::FunctionPhase::kWarm; }));
}

/// The thread that this request wakes finds the function in its turn, and may sleep before that
/// ends.
TEST_F(FunctionPlacesTest, RequestThatComesDuringATurnIsAnsweredAlthoughACallerRunsTheTurn) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> num_answers = 0;
    runtime::Request request = request_of(1);
    request.will_wait = true;
    std::atomic<bool> is_done = false;
    request.on_done = [&](const Reply& /*reply*/) {
      ask(0, [&] { ++num_answers; });
      ask(1, [&] { ++num_answers; });
      EXPECT_TRUE(eventually([&] { return num_answers == 1; }));
      is_done = true;
    };
    EXPECT_TRUE(sinks_[0]->submit(request).is_ok());
    EXPECT_TRUE(sinks_[0]->wait([&] { return is_done.load(); }, kNoDeadline));
    EXPECT_TRUE(eventually([&] { return num_answers == 2; })) << round;
  }
}

TEST_F(FunctionPlacesTest, FunctionsOfSeveralCoresOrMoreLanesThanCoresShareWhatThereIs) {
  FunctionHost more(engine_, {.num_lanes = 9});
  ASSERT_TRUE(more.deploy(load_of(executable_, "f"), {}).is_ok());
  EXPECT_EQ(engine_.num_free_cores(), 0) << "two of nine";
  more.shutdown(0);
  FunctionHost wide(engine_, {.num_lanes = 9, .lane_cores = 2});
  EXPECT_TRUE(wide.deploy(load_of(add_relu_in({2}), "two cores"), {}).is_ok());
  EXPECT_EQ(engine_.num_free_cores(), 0);
  EXPECT_TRUE(wide.deploy(load_of(executable_, "another"), {}).is_ok());
  EXPECT_FALSE(places_.deploy(load_of(add_relu_in({2}), "two cores"), {}).is_ok())
      << "a place has one core";
}

}  // namespace
}  // namespace sluice::sandbox
