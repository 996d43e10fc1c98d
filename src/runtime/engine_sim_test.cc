// The runtime in virtual time: pipelining against the analytic bound, deadlines, lost devices. All
// exact, nothing sleeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/sim.h"

namespace sluice::runtime {
namespace {

using testing::add_relu_in;
using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
using testing::load_of;
using testing::request_of;

constexpr std::int64_t kCopyInNs = 10'000;
constexpr std::int64_t kKernelNs = 20'000;
constexpr std::int64_t kCopyOutNs = 5'000;
/// Two segments of one kernel each.
constexpr std::int64_t kTotalNs = kCopyInNs + 2 * kKernelNs + kCopyOutNs;

constexpr const char* kMachine = R"({"devices": [{"cores": 4,
    "compute": {"kernel_ns": 20000},
    "copy": {"to_device": {"latency_ns": 10000, "bytes_per_s": 1e15},
             "to_host": {"latency_ns": 5000, "bytes_per_s": 1e15}}}]})";

sluice::testing::Sim machine() {
  auto sim = sluice::testing::make_sim(kMachine);
  EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
  return std::move(sim).value();
}

class SimTest : public ::testing::Test {
 protected:
  SimTest() : sim_(machine()), drivers_(*sim_.time) {
    EngineOptions options;
    options.devices = testing::sim_map(*sim_.backend);
    options.hang_limit_ns = 1'000'000;
    engine_ = std::make_unique<testing::TestEngine>(sim_.registry, drivers_, std::move(options));
  }

  /// `cores` of an explicit group; 0 for an implicit one. Started.
  terms::ModelHandle load(std::vector<std::int32_t> segments, int depth, std::int32_t cores = 0,
                          std::optional<int> queue_limit = std::nullopt) {
    LoadRequest request = load_of(add_relu_in(std::move(segments), "sim"));
    request.depth = depth;
    request.queue_limit = queue_limit;
    if (cores > 0) {
      terms::CoreRequest group;
      group.num_cores = cores;
      request.group = engine_->create_group(group).value();
    }
    const auto handle = engine_->load(request);
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    if (cores > 0) {
      EXPECT_TRUE(engine_->start(*handle).is_ok());
    }
    return *handle;
  }

  /// Virtual time of `count` requests with `depth` of them in flight at any time.
  std::int64_t run(terms::ModelHandle model, int depth, int count) {
    const auto sink = engine_->sink(model).value();
    int submitted = 0;
    int done = 0;
    std::function<void()> submit = [&] {
      Request request = request_of(1);
      request.on_done = [&](const Reply& reply) {
        EXPECT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
        ++done;
        if (submitted < count) submit();
      };
      ++submitted;
      const auto id = sink->submit(request);
      EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    };
    const std::int64_t start = sim_.time->now_ns();
    for (int i = 0; i < depth; ++i) submit();
    EXPECT_TRUE(sink->wait([&] { return done == count; }, kNoDeadline));
    return sim_.time->now_ns() - start;
  }

  sluice::testing::Sim sim_;
  ManualDrivers drivers_;
  std::unique_ptr<testing::TestEngine> engine_;
};

TEST_F(SimTest, RequestTimeIsTheSumOfCopiesAndKernels) {
  const terms::ModelHandle model = load({1, 1}, 1);
  Request request = request_of(1);
  request.wants_detail = true;
  const Reply reply = engine_->infer(model, request);
  ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  EXPECT_THAT(floats(reply.outputs[0]), ElementsAre(2, 0, 4, 0));
  EXPECT_EQ(reply.detail.copy_ns, kCopyInNs + kCopyOutNs);
  EXPECT_EQ(reply.detail.compute_ns, 2 * kKernelNs);
  EXPECT_EQ(sim_.time->now_ns() >= kTotalNs, true);
}

TEST_F(SimTest, ThroughputIsWithinFivePercentOfTheAnalyticBoundAtAnyDepth) {
  constexpr int kCount = 400;
  for (const int depth : {1, 2, 4, 8}) {
    const terms::ModelHandle model = load({1, 1}, depth);
    // A request every total/depth, but no faster than the slowest stage.
    const double interval =
        std::max(static_cast<double>(kTotalNs) / depth, static_cast<double>(kKernelNs));
    const double bound = interval * kCount;
    const auto taken = static_cast<double>(run(model, depth, kCount));
    EXPECT_GE(taken, bound * 0.99) << depth;
    EXPECT_LE(taken, bound * 1.05) << depth;
    ASSERT_TRUE(engine_->unload(model).is_ok());
  }
}

TEST_F(SimTest, NormalModePipelinesRequestsThroughSegmentsAndCopiesOfTheNextOverlap) {
  const terms::ModelHandle one = load({1, 1}, 1);
  const std::int64_t serial = run(one, 1, 100);
  ASSERT_TRUE(engine_->unload(one).is_ok());
  const terms::ModelHandle four = load({1, 1}, 4);
  const std::int64_t pipelined = run(four, 4, 100);
  EXPECT_LT(pipelined, serial / 2);
}

TEST_F(SimTest, SharedModeThroughputMatchesTheAnalyticModel) {
  constexpr int kCount = 200;
  const terms::ModelHandle normal = load({1, 1}, 4, 2);
  const terms::ModelHandle shared = load({1, 1}, 4, 1);
  ASSERT_EQ(engine_->info(shared).value().mode, terms::LoadMode::kShared);
  const auto pipelined = static_cast<double>(run(normal, 4, kCount));
  const auto serial = static_cast<double>(run(shared, 4, kCount));
  // One request at a time against one every slowest stage.
  const double theory = static_cast<double>(kTotalNs) / static_cast<double>(kKernelNs);
  EXPECT_NEAR(serial / pipelined, theory, theory * 0.05);
}

TEST_F(SimTest, ModelsOfDifferentGroupsRunInParallel) {
  const terms::ModelHandle a = load({2}, 1);
  const terms::ModelHandle b = load({2}, 1);
  Request first = request_of(1);
  Request second = request_of(2);
  const std::int64_t start = sim_.time->now_ns();
  const testing::Cookie x = engine_->post(a, first).value();
  const testing::Cookie y = engine_->post(b, second).value();
  EXPECT_EQ(engine_->wait(x, kNoDeadline).code, RuntimeCode::kOk);
  EXPECT_EQ(engine_->wait(y, kNoDeadline).code, RuntimeCode::kOk);
  const std::int64_t taken = sim_.time->now_ns() - start;
  EXPECT_LT(taken, 2 * kTotalNs - kKernelNs) << "kernels overlap; copies share an engine";
}

TEST_F(SimTest, PendingCookiesAreNotDoneAndWaitsEndAtTheirDeadline) {
  const terms::ModelHandle model = load({1, 1}, 2);
  Request request = request_of(1);
  const testing::Cookie cookie = engine_->post(model, request).value();
  EXPECT_EQ(engine_->poll(cookie).code, RuntimeCode::kPending);
  EXPECT_TRUE(engine_->completed(std::vector{cookie}).empty());
  EXPECT_EQ(engine_->wait(cookie, sim_.time->now_ns() + kKernelNs).code, RuntimeCode::kPending);
  EXPECT_EQ(engine_->wait(cookie, kNoDeadline).code, RuntimeCode::kOk);
}

TEST_F(SimTest, FullQueueRefusesAndServesAgainWhenThereIsRoom) {
  const terms::ModelHandle model = load({1, 1}, 2, 0, 0);
  Request requests[3] = {request_of(1), request_of(2), request_of(3)};
  const testing::Cookie first = engine_->post(model, requests[0]).value();
  ASSERT_TRUE(engine_->post(model, requests[1]).is_ok());
  const Status full = engine_->post(model, requests[2]).status();
  EXPECT_EQ(terms::runtime_code_of(full), RuntimeCode::kQueueFull);
  EXPECT_THAT(full.message(), HasSubstr("its queue limit is 0"));
  EXPECT_EQ(engine_->wait(first, kNoDeadline).code, RuntimeCode::kOk);
  EXPECT_TRUE(engine_->post(model, requests[2]).is_ok());
}

TEST_F(SimTest, DeadlinesPassWhileWaitingAndWhileRunning) {
  const terms::ModelHandle model = load({1, 1}, 3, 1);  // shared: one slot
  Request running = request_of(1);
  Request waiting = request_of(2);
  const std::int64_t now = sim_.time->now_ns();
  running.deadline_ns = now + kCopyInNs + kKernelNs / 2;
  waiting.deadline_ns = now + kCopyInNs / 2;
  const testing::Cookie a = engine_->post(model, running).value();
  const testing::Cookie b = engine_->post(model, waiting).value();
  EXPECT_EQ(engine_->wait(b, kNoDeadline).code, RuntimeCode::kTimeout);
  EXPECT_EQ(sim_.time->now_ns(), now + kCopyInNs / 2);
  const Reply reply = engine_->wait(a, kNoDeadline);
  EXPECT_EQ(reply.code, RuntimeCode::kTimeout);
  EXPECT_EQ(sim_.time->now_ns(), now + kCopyInNs + kKernelNs / 2) << "at the deadline, not after";
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk)
      << "the slot is free again";
}

TEST_F(SimTest, BorrowedMemoryIsHeldUntilTheStageIsDone) {
  const terms::ModelHandle model = load({1, 1}, 1);
  Request request = request_of(1);
  const auto owner = std::move(request.memory_owner);
  const std::int64_t now = sim_.time->now_ns();
  request.deadline_ns = now + kCopyInNs / 2;
  EXPECT_EQ(engine_->infer(model, request).code, RuntimeCode::kTimeout);
  EXPECT_EQ(sim_.time->now_ns(), now + kCopyInNs);
}

TEST_F(SimTest, HigherPriorityGoesFirst) {
  const terms::ModelHandle model = load({1, 1}, 3, 1);
  std::vector<int> order;
  const auto sink = engine_->sink(model).value();
  for (const int priority : {0, 1, 2}) {
    Request request = request_of(1);
    request.priority = priority;
    request.on_done = [&order, priority](const Reply&) { order.push_back(priority); };
    ASSERT_TRUE(sink->submit(request).is_ok());
  }
  sink->wait([&] { return order.size() == 3; }, kNoDeadline);
  EXPECT_THAT(order, ElementsAre(2, 1, 0));
}

TEST_F(SimTest, CancelledRequestIsAnsweredInEveryStage) {
  const terms::ModelHandle model = load({1, 1}, 2, 1);
  Request running = request_of(1);
  Request waiting = request_of(2);
  const testing::Cookie a = engine_->post(model, running).value();
  const testing::Cookie b = engine_->post(model, waiting).value();
  EXPECT_EQ(engine_->wait(a, sim_.time->now_ns() + kCopyInNs + 1).code, RuntimeCode::kPending);
  EXPECT_TRUE(engine_->cancel(a).is_ok());
  EXPECT_TRUE(engine_->cancel(b).is_ok());
  EXPECT_EQ(engine_->wait(b, kNoDeadline).code, RuntimeCode::kCancelled);
  EXPECT_EQ(engine_->wait(a, kNoDeadline).code, RuntimeCode::kCancelled);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
}

TEST_F(SimTest, KernelSaysWhoseFaultAnErrorIs) {
  constexpr std::pair<const char*, RuntimeCode> kCodes[] = {
      {"INVALID_ARGUMENT", RuntimeCode::kBadInput},
      {"OUT_OF_RANGE", RuntimeCode::kBadInput},
      {"RESOURCE_EXHAUSTED", RuntimeCode::kOutOfResources},
      {"UNIMPLEMENTED", RuntimeCode::kCompletedWithError},
      {"FAILED_PRECONDITION", RuntimeCode::kCompletedWithError},
      {"INTERNAL", RuntimeCode::kCompletedWithError},
      {"UNAVAILABLE", RuntimeCode::kDeviceError}};  // the last one: the model is out of service
  const terms::ModelHandle model = load({1, 1}, 1);
  for (const auto& [name, code] : kCodes) {
    ASSERT_TRUE(sim_.time
                    ->inject_fault(fmt::format(
                        R"({{"kind": "failed_kernel", "operator": "Relu", "code": "{}"}})", name))
                    .is_ok());
    const Reply reply = engine_->infer(model, request_of(1));
    EXPECT_EQ(reply.code, code) << name << ": " << reply.errors.to_status().to_string();
  }
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kModelFailed);
}

TEST_F(SimTest, FailedKernelFailsItsRequestOnly) {
  const terms::ModelHandle model = load({1, 1}, 1);
  ASSERT_TRUE(sim_.time->inject_fault(R"({"kind": "failed_kernel", "operator": "Relu"})").is_ok());
  const Reply reply = engine_->infer(model, request_of(1));
  EXPECT_EQ(reply.code, RuntimeCode::kCompletedWithError);
  EXPECT_TRUE(reply.outputs.empty());
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
}

TEST_F(SimTest, LostDeviceFailsAllRequestsAndResetRecoversTheModel) {
  const terms::ModelHandle model = load({1, 1}, 3);
  std::vector<testing::Cookie> cookies;
  for (int i = 0; i < 3; ++i) {
    Request request = request_of(1);
    cookies.push_back(engine_->post(model, request).value());
  }
  EXPECT_EQ(engine_->wait(cookies[0], sim_.time->now_ns() + kCopyInNs + 1).code,
            RuntimeCode::kPending);
  ASSERT_TRUE(sim_.time->inject_fault(R"({"kind": "lost_device", "device": 0})").is_ok());
  for (const testing::Cookie cookie : cookies) {
    EXPECT_EQ(engine_->wait(cookie, kNoDeadline).code, RuntimeCode::kDeviceError);
  }
  EXPECT_EQ(engine_->info(model).value().phase, terms::ModelPhase::kFailed);
  EXPECT_EQ(engine_->health(model).value().state, terms::HealthState::kFailed);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kModelFailed);
  EXPECT_EQ(terms::runtime_code_of(engine_->start(model)), RuntimeCode::kModelFailed);
  EXPECT_EQ(terms::runtime_code_of(engine_->stop(model)), RuntimeCode::kModelFailed);

  EXPECT_EQ(terms::runtime_code_of(engine_->reset_device(terms::DeviceId(99))),
            RuntimeCode::kInvalid);
  ASSERT_TRUE(engine_->reset_device(terms::DeviceId(0)).is_ok());
  ASSERT_TRUE(engine_->reset(model).is_ok());
  EXPECT_EQ(engine_->info(model).value().phase, terms::ModelPhase::kStopped);
  ASSERT_TRUE(engine_->start(model).is_ok());
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
  EXPECT_EQ(engine_->health(model).value().state, terms::HealthState::kDegraded);
}

TEST_F(SimTest, HungKernelTimesOutAndStopAbandonsItsDevice) {
  const terms::ModelHandle model = load({1, 1}, 2);
  ASSERT_TRUE(sim_.time->inject_fault(R"({"kind": "hung_kernel", "operator": "Add"})").is_ok());
  Request request = request_of(1);
  request.deadline_ns = sim_.time->now_ns() + 100'000;
  EXPECT_EQ(engine_->infer(model, request).code, RuntimeCode::kTimeout);
  EXPECT_EQ(terms::runtime_code_of(engine_->stop(model)), RuntimeCode::kDeviceError);
  EXPECT_EQ(engine_->info(model).value().phase, terms::ModelPhase::kFailed);
  ASSERT_TRUE(sim_.time->clear_all_faults().is_ok());
  EXPECT_TRUE(engine_->unload(model).is_ok());
  EXPECT_EQ(engine_->num_free_cores(), 4);
}

TEST_F(SimTest, UnloadInFlightLetsRequestsFinishOrCancelsThemAtTheDeadline) {
  for (const bool has_time : {true, false}) {
    const terms::ModelHandle model = load({1, 1}, 1);
    Request request = request_of(1);
    const testing::Cookie cookie = engine_->post(model, request).value();
    const std::int64_t drain_ns = has_time ? sim_.time->now_ns() + 10 * kTotalNs : 0;
    ASSERT_TRUE(engine_->unload(model, drain_ns).is_ok());
    EXPECT_EQ(engine_->poll(cookie).code, has_time ? RuntimeCode::kOk : RuntimeCode::kCancelled);
  }
}

TEST_F(SimTest, UnloadReturnsTheDevicesMemory) {
  const std::int64_t before = sim_.time->memory_used_bytes(0);
  const terms::ModelHandle model = load({1, 1}, 4);
  EXPECT_GE(sim_.time->memory_used_bytes(0) - before, 4 * 2 * 16)
      << "inputs and outputs of 4 slots";
  ASSERT_TRUE(engine_->unload(model).is_ok());
  EXPECT_EQ(sim_.time->memory_used_bytes(0), before);
}

}  // namespace
}  // namespace sluice::runtime
