// All executors on the same graphs: on one backend, on lanes of cores, and on devices with memory
// of their own, where a kernel fails if a copy is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "exec/testing/exec_testing.h"
#include "support/process.h"
#include "support/sim.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::executable_of;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;

constexpr std::array kExecutors = {ExecutorKind::kLinear, ExecutorKind::kDataflow,
                                   ExecutorKind::kParallel};

constexpr std::string_view kTwoTowers = R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %c : f32[4] = [1.0, -2.0, 3.0, -4.0]
  [%a : f32[4]] = Add.14[%x, %c] "a"
  [%l1 : f32[4]] = Relu.14[%a] "l1"
  [%r1 : f32[4]] = Mul.14[%a, %c] "r1"
  [%l2 : f32[4]] = Add.14[%l1, %c] "l2"
  [%r2 : f32[4]] = Relu.14[%r1] "r2"
  [%l3 : f32[4]] = Mul.14[%l2, %l1] "l3"
  [%r3 : f32[4]] = Add.14[%r2, %r1] "r3"
  [%y : f32[4]] = Sub.14[%l3, %r3] "y"
  output [%y, %a]
}
)";

LoadOptions options_for(ExecutorKind executor, std::vector<SegmentPlacement> segments = {}) {
  LoadOptions options;
  options.executor = executor;
  options.cores = {0, 1};
  options.segments = std::move(segments);
  return options;
}

/// Outputs of a run on [value, value, value, value], or the status as a failure.
std::vector<std::vector<float>> run(Context& context, float value) {
  Aligned<float> x({value, value, value, value});
  EXPECT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  const Status status = context.run();
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return {floats(context.output(0)), floats(context.output(1))};
}

/// A graph of `steps` random operations of one or two inputs, each by name.
std::string random_graph(std::mt19937& random, int steps) {
  std::string text = "subgraph @0 \"main\" {\n  input %x : f32[4]\n";
  std::vector<std::string> values = {"x"};
  for (int i = 0; i < steps; ++i) {
    const auto pick = [&] {
      return values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 6)];
    };
    const std::string result = fmt::format("v{}", i);
    constexpr std::array kKinds = {"Add.14", "Mul.14", "Sub.14", "Relu.14", "Tanh.13"};
    const std::size_t kind = random() % kKinds.size();
    const std::string inputs = kind < 3 ? fmt::format("%{}, %{}", pick(), pick()) : "%" + pick();
    text += fmt::format("  [%{} : f32[4]] = {}[{}] \"{}\"\n", result, kKinds[kind], inputs, result);
    values.push_back(result);
  }
  return text + fmt::format("  output [%v{}, %v{}]\n}}\n", steps - 1, steps / 2);
}

sluice::testing::Sim two_devices(std::string_view more = "") {
  auto sim = sluice::testing::make_sim(
      fmt::format(R"({{"devices": [{{"count": 2, "host_memory": false{}}}]}})", more));
  EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
  return std::move(sim).value();
}

/// `numbers`: by operation, 0 for `reference`, 1 and 2 for the devices of `sim`.
package::Executable split(std::string_view graph, std::vector<std::int16_t> numbers) {
  auto executable = executable_of(graph);
  executable.backends = {"reference", "sim", "sim:1"};
  executable.backend_of.front() = std::move(numbers);
  return executable;
}

TEST(Executors, HaveNames) {
  for (const ExecutorKind kind : kExecutors) {
    EXPECT_EQ(*parse_executor(executor_name(kind)), kind);
  }
  EXPECT_THAT(parse_executor("eager").status().message(), HasSubstr("linear, dataflow"));
}

TEST(Executors, ExecutorComesFromTheLoadOrThePackage) {
  auto executable = executable_of(kTwoTowers);
  executable.graph.metadata[kExecutorFact] = "eager";
  EXPECT_FALSE(LoadedModel::load(executable, testing::registry(), {}).is_ok());
  EXPECT_TRUE(LoadedModel::load(executable, testing::registry(), options_for(ExecutorKind::kLinear))
                  .is_ok());
}

TEST(Executors, AgreeBitForBitOnOneBackend) {
  if (sluice::testing::usable_processors().size() < 2) GTEST_SKIP() << "lanes need two processors";
  for (const std::string_view backend : {"reference", "cpu"}) {
    std::vector<std::vector<float>> expected;
    for (const ExecutorKind kind : kExecutors) {
      const auto model = LoadedModel::load(executable_of(kTwoTowers, backend), testing::registry(),
                                           options_for(kind));
      ASSERT_TRUE(model.is_ok()) << model.status().to_string();
      Context context = model->create_context().value();
      for (int round = 0; round < 20; ++round) {
        const auto outputs = run(context, 1.5F);
        if (expected.empty()) expected = outputs;
        EXPECT_EQ(outputs, expected) << backend << " " << executor_name(kind);
      }
    }
  }
}

TEST(Executors, TowersOfShortKernelsRunOnLanesAndAgree) {
  if (sluice::testing::usable_processors().size() < 2) GTEST_SKIP() << "lanes need two processors";
  for (const std::string_view backend : {"reference", "cpu"}) {
    std::vector<float> expected;
    for (const ExecutorKind kind : kExecutors) {
      const auto model =
          LoadedModel::load(executable_of(testing::towers_of_short_kernels(), backend),
                            testing::registry(), options_for(kind));
      ASSERT_TRUE(model.is_ok()) << model.status().to_string();
      EXPECT_EQ(model->num_tasks(), kind == ExecutorKind::kParallel ? 3U : 1U);
      Context context = model->create_context().value();
      Aligned<float> x(std::vector<float>(40000, 0.75F));
      ASSERT_TRUE(context.set_input(0, f32_view(x, {40000})).is_ok());
      for (int round = 0; round < 10; ++round) {
        ASSERT_TRUE(context.run().is_ok());
        const std::vector<float> actual = floats(context.output(1));
        if (expected.empty()) expected = actual;
        EXPECT_EQ(actual, expected) << backend << " " << executor_name(kind);
      }
    }
  }
}

TEST(Executors, AgreeOnRandomGraphsAndSplits) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const std::string graph = random_graph(random, 24);
    std::vector<std::int16_t> numbers;
    for (int i = 0; i < 24; ++i) numbers.push_back(static_cast<std::int16_t>(random() % 3));
    if (round % 3 == 0) std::ranges::fill(numbers, std::int16_t{0});
    std::vector<std::vector<float>> expected;
    for (const ExecutorKind kind : kExecutors) {
      const sluice::testing::Sim sim = two_devices();
      const auto model = LoadedModel::load(split(graph, numbers), sim.registry, options_for(kind));
      ASSERT_TRUE(model.is_ok()) << graph << model.status().to_string();
      Context context = model->create_context().value();
      for (const float value : {0.5F, -0.25F}) {
        const auto outputs = run(context, value);
        if (kind == ExecutorKind::kLinear) {
          expected.insert(expected.end(), outputs.begin(), outputs.end());
        } else {
          const std::size_t at = value > 0 ? 0 : 2;
          EXPECT_EQ(outputs[0], expected[at]) << graph << executor_name(kind);
          EXPECT_EQ(outputs[1], expected[at + 1]) << graph << executor_name(kind);
        }
      }
    }
  }
}

TEST(Executors, DevicesOverlapInVirtualTime) {
  std::map<ExecutorKind, std::int64_t> times_ns;
  for (const ExecutorKind kind : kExecutors) {
    const sluice::testing::Sim sim = two_devices(R"(, "compute": {"kernel_ns": 1000000})");
    // The towers on a device each, "a" on the host: two backends have no events in common, by which
    // the linear executor would overlap devices too.
    const auto model = LoadedModel::load(split(kTwoTowers, {0, 1, 2, 1, 2, 1, 2, 1}), sim.registry,
                                         options_for(kind));
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    Context context = model->create_context().value();
    const std::int64_t start_ns = sim.time->now_ns();
    run(context, 1);
    times_ns[kind] = sim.time->now_ns() - start_ns;
  }
  // 7 kernels in a row, or 3 beside 3 and one. A thread that waits may move time past the moment at
  // which another thread would have submitted work, so the parallel executor has no fixed time
  // here.
  EXPECT_GE(times_ns[ExecutorKind::kLinear], 7'000'000);
  EXPECT_LT(times_ns[ExecutorKind::kDataflow], 5'000'000);
  EXPECT_LE(times_ns[ExecutorKind::kParallel], times_ns[ExecutorKind::kLinear]);
}

TEST(Executors, FailedBranchFailsTheRunAndTheNextRunWorks) {
  for (const ExecutorKind kind : kExecutors) {
    const sluice::testing::Sim sim = two_devices();
    const auto model = LoadedModel::load(split(kTwoTowers, {0, 1, 2, 1, 2, 0, 2, 0}), sim.registry,
                                         options_for(kind));
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    Context context = model->create_context().value();
    const auto expected = run(context, 1);
    Aligned<float> x({1, 1, 1, 1});
    ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
    ASSERT_TRUE(sim.time->inject_fault(R"({"kind": "failed_kernel", "node": "r2"})").is_ok());
    EXPECT_THAT(context.run().message(), HasSubstr("r2")) << executor_name(kind);
    EXPECT_EQ(run(context, 1), expected) << executor_name(kind);
  }
}

TEST(Executors, LostDeviceFailsTheRunAndNothingHangs) {
  for (const ExecutorKind kind : kExecutors) {
    const sluice::testing::Sim sim = two_devices();
    const auto model = LoadedModel::load(split(kTwoTowers, {0, 1, 2, 1, 2, 0, 2, 0}), sim.registry,
                                         options_for(kind));
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    Context context = model->create_context().value();
    const auto expected = run(context, 1);
    Aligned<float> x({1, 1, 1, 1});
    ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
    const auto fault = sim.time->inject_fault(R"({"kind": "lost_device", "device": 1})");
    ASSERT_TRUE(fault.is_ok());
    EXPECT_FALSE(context.run().is_ok()) << executor_name(kind);
    ASSERT_TRUE(sim.time->clear_fault(*fault).is_ok());
    EXPECT_EQ(run(context, 1), expected) << executor_name(kind);
  }
}

TEST(Executors, ControlFlowRunsItsBodiesByThem) {
  for (const ExecutorKind kind : kExecutors) {
    const auto model = LoadedModel::load(executable_of(testing::kGrowingLoop), testing::registry(),
                                         options_for(kind));
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    Context context = model->create_context().value();
    Aligned<float> limit({2});
    ASSERT_TRUE(context.set_input(0, f32_view(limit, {})).is_ok());
    ASSERT_TRUE(context.run().is_ok());
    EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2)) << executor_name(kind);
  }
}

TEST(Executors, RunInPartsEqualsAWholeRun) {
  for (const ExecutorKind kind : kExecutors) {
    const auto model =
        LoadedModel::load(executable_of(kTwoTowers), testing::registry(), options_for(kind));
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    Context context = model->create_context().value();
    const auto expected = run(context, 2);
    Aligned<float> x({2, 2, 2, 2});
    ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
    ASSERT_TRUE(context.begin().is_ok());
    for (std::size_t segment = 0; segment < model->num_segments(); ++segment) {
      ASSERT_TRUE(context.submit_segment(segment).is_ok());
      while (!context.poll_segment(segment).value()) {
      }
    }
    ASSERT_TRUE(context.finish().is_ok());
    EXPECT_EQ(floats(context.output(0)), expected[0]) << executor_name(kind);
  }
}

TEST(DeviceNames, AbsentDeviceIsRefused) {
  const sluice::testing::Sim sim = two_devices();
  EXPECT_TRUE(sim.registry.find("sim:1").is_ok());
  EXPECT_THAT(sim.registry.find("sim:2").status().message(), HasSubstr("has 2 devices"));
  EXPECT_THAT(sim.registry.find("sim:x").status().message(), HasSubstr("no backend \"sim:x\""));
}

}  // namespace
}  // namespace sluice::exec
