// The longest time of a run, in virtual time: all exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/sim.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::load_of;
using testing::request_of;

/// Time of two kernels.
constexpr std::int64_t kRunNs = 40'000;
constexpr const char* kLimitedMachine =
    R"({"devices": [{"cores": 4, "compute": {"kernel_ns": 20000}}]})";
/// Compiled for four rows: fewer are filled up.
constexpr std::string_view kRows = R"(
subgraph @0 "main" {
  input %x : f32[4,2]
  [%r : f32[4,2]] = Relu.14[%x]
  [%y : f32[4,2]] = Sigmoid.13[%r]
  output [%y]
}
)";

class RunLimitTest : public ::testing::Test {
 protected:
  RunLimitTest()
      : sim_(std::move(sluice::testing::make_sim(kLimitedMachine)).value()), drivers_(*sim_.time) {
    EngineOptions options;
    options.devices = testing::sim_map(*sim_.backend);
    engine_ = std::make_unique<testing::TestEngine>(sim_.registry, drivers_, std::move(options));
  }

  terms::ModelHandle load(std::optional<std::int64_t> max_run_ns) {
    LoadRequest load = load_of(testing::add_relu_in({1}, "sim"));
    load.depth = 1;
    load.max_run_ns = max_run_ns;
    return engine_->load(load).value();
  }

  sluice::testing::Sim sim_;
  ManualDrivers drivers_;
  std::unique_ptr<testing::TestEngine> engine_;
};

TEST_F(RunLimitTest, LongerRunIsStoppedAndTheNextOneRuns) {
  const terms::ModelHandle model = load(kRunNs - 1);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t start_ns = sim_.time->now_ns();
    const Reply reply = engine_->infer(model, request_of(1));
    EXPECT_EQ(reply.code, RuntimeCode::kTimeout);
    EXPECT_THAT(reply.errors.to_status().message(), HasSubstr("load it with a larger max_run"));
    EXPECT_GE(sim_.time->now_ns() - start_ns, kRunNs - 1);
  }
  EXPECT_EQ(engine_->infer(load(kRunNs * 2), request_of(1)).code, RuntimeCode::kOk);
}

TEST_F(RunLimitTest, TimeInTheLineDoesNotCount) {
  const terms::ModelHandle model = load(kRunNs * 2);
  const auto sink = engine_->sink(model).value();
  int num_ok = 0;
  for (int i = 0; i < 10; ++i) {
    Request request = request_of(1);
    request.on_done = [&](const Reply& reply) { num_ok += reply.code == RuntimeCode::kOk ? 1 : 0; };
    ASSERT_TRUE(sink->submit(request).is_ok());
  }
  EXPECT_TRUE(sink->wait([&] { return num_ok == 10; }, kNoDeadline));
}

TEST_F(RunLimitTest, RequestWithoutATimeLimitHasTheModels) {
  LoadRequest load = load_of(testing::add_relu_in({1}, "sim"));
  load.depth = 1;
  load.request_timeout_ns = kRunNs * 2 + kRunNs / 2;
  const auto sink = engine_->sink(engine_->load(load).value()).value();
  std::vector<RuntimeCode> codes(4, RuntimeCode::kPending);
  int num_done = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    Request request = request_of(1);
    if (i == 3) request.deadline_ns = sim_.time->now_ns() + 100 * kRunNs;  // its own
    request.on_done = [&, i](const Reply& reply) { codes[i] = reply.code, ++num_done; };
    ASSERT_TRUE(sink->submit(request).is_ok());
  }
  EXPECT_TRUE(sink->wait([&] { return num_done == 4; }, kNoDeadline));
  EXPECT_THAT(codes, ElementsAre(RuntimeCode::kOk, RuntimeCode::kOk, RuntimeCode::kTimeout,
                                 RuntimeCode::kOk));
}

TEST_F(RunLimitTest, ShorterLimitOfModelAndClientHolds) {
  struct Case {
    std::optional<std::int64_t> model_ns;
    std::int64_t client_ns;
    std::string_view says;  ///< empty: the run ends by itself
  };
  const Case kCases[] = {{std::nullopt, kRunNs - 1, "roles"},
                         {0, kRunNs - 1, "roles"},
                         {kRunNs * 2, kRunNs - 1, "roles"},
                         {kRunNs - 1, kRunNs * 2, "larger max_run"},
                         {0, 0, ""},
                         {kRunNs * 2, kRunNs * 3, ""}};
  for (const Case& one : kCases) {
    const terms::ModelHandle model = load(one.model_ns);
    Request request = request_of(1);
    request.max_run_ns = one.client_ns;
    const Reply reply = engine_->infer(model, std::move(request));
    EXPECT_EQ(reply.code, one.says.empty() ? RuntimeCode::kOk : RuntimeCode::kTimeout);
    EXPECT_THAT(reply.errors.to_status().message(), HasSubstr(std::string(one.says)));
    ASSERT_TRUE(engine_->unload(model, 0).is_ok());
  }
}

TEST_F(RunLimitTest, JoinedRequestsAreJudgedEachForItself) {
  LoadRequest load = load_of(testing::model_of(kRows, "sim"));
  load.depth = 1;
  load.batching = terms::BatchOptions{0, 0};
  const terms::ModelHandle model = engine_->load(load).value();
  const auto sink = engine_->sink(model).value();
  // The joined run has the shortest limit of its parts; then each request runs with its own.
  const std::int64_t kLimits[] = {0, kRunNs - 1, kRunNs * 2};
  std::vector<RuntimeCode> codes;
  std::string said;
  for (const std::int64_t limit_ns : kLimits) {
    auto memory = std::make_shared<std::vector<float>>(2, 1.0F);
    Request request;
    request.inputs = {{memory->data(), 2 * sizeof(float), ir::ElementType::kF32, {1, 2}}};
    request.memory_owner = memory;
    request.max_run_ns = limit_ns;
    request.on_done = [&](const Reply& reply) {
      codes.push_back(reply.code);
      said += reply.errors.to_status().message();
    };
    ASSERT_TRUE(sink->submit(request).is_ok());
  }
  EXPECT_TRUE(sink->wait([&] { return codes.size() == 3; }, kNoDeadline));
  EXPECT_THAT(codes,
              ::testing::ElementsAre(RuntimeCode::kOk, RuntimeCode::kTimeout, RuntimeCode::kOk))
      << said;
}

}  // namespace
}  // namespace sluice::runtime
