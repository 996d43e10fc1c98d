// More requests with deadlines than a model can compute, in virtual time: all exact.
#include <gtest/gtest.h>

#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/sim.h"

namespace sluice::runtime {
namespace {

using testing::add_relu_in;
using testing::load_of;
using testing::request_of;

constexpr std::int64_t kRunNs = 40'000;
constexpr const char* kMachine = R"({"devices": [{"cores": 4, "compute": {"kernel_ns": 20000}}]})";

struct Overload {
  double times = 1;     ///< requests per time of a run
  double deadline = 1;  ///< in times of a run
};

class OverloadTest : public ::testing::TestWithParam<Overload> {
 protected:
  OverloadTest()
      : sim_(std::move(sluice::testing::make_sim(kMachine)).value()), drivers_(*sim_.time) {
    EngineOptions options;
    options.devices = testing::sim_map(*sim_.backend);
    engine_ = std::make_unique<testing::TestEngine>(sim_.registry, drivers_, std::move(options));
  }

  sluice::testing::Sim sim_;
  ManualDrivers drivers_;
  std::unique_ptr<testing::TestEngine> engine_;
};

TEST_P(OverloadTest, NearlyAllOfTheCapacityGoesToRequestsThatAreInTime) {
  LoadRequest load = load_of(add_relu_in({1, 1}, "sim"));
  load.depth = 1;
  load.queue_limit = 1000;
  const terms::ModelHandle model = engine_->load(load).value();
  const auto sink = engine_->sink(model).value();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
  }
  constexpr int kRuns = 400;
  const auto deadline_ns = static_cast<std::int64_t>(GetParam().deadline * kRunNs);
  const int num_requests = static_cast<int>(kRuns * GetParam().times);
  const std::int64_t start_ns = sim_.time->now_ns();
  int num_ok = 0;
  int num_answered = 0;
  int num_refused = 0;
  for (int i = 0; i < num_requests; ++i) {
    const auto due_ns = start_ns + static_cast<std::int64_t>(i * (kRunNs / GetParam().times));
    sink->wait([] { return false; }, due_ns);
    Request request = request_of(1);
    request.deadline_ns = due_ns + deadline_ns;
    request.on_done = [&](const Reply& reply) {
      ++num_answered;
      num_ok += reply.code == RuntimeCode::kOk ? 1 : 0;
    };
    const auto id = sink->submit(request);
    if (id.is_ok()) continue;
    ++num_refused;
    EXPECT_EQ(terms::runtime_code_of(id.status()), RuntimeCode::kTimeout);
  }
  EXPECT_TRUE(sink->wait([&] { return num_answered + num_refused == num_requests; }, kNoDeadline));
  EXPECT_GE(num_ok, kRuns * 95 / 100);
  EXPECT_GT(num_refused, 0) << "those that will be late are told at once";
}

INSTANTIATE_TEST_SUITE_P(TimesAndDeadlines, OverloadTest,
                         ::testing::Values(Overload{1.5, 2}, Overload{1.5, 6}, Overload{1.5, 90},
                                           Overload{3, 2}, Overload{3, 6}, Overload{3, 90},
                                           Overload{10, 2}, Overload{10, 6}, Overload{10, 90}),
                         [](const auto& overload) {
                           return fmt::format("{:.0f}PercentDue{}Runs", overload.param.times * 100,
                                              overload.param.deadline);
                         });

}  // namespace
}  // namespace sluice::runtime
