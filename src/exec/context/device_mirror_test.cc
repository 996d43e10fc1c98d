// Models on a simulated device that reaches no memory but its own: a kernel fails there if a copy
// is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"
#include "support/sim.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::executable_of;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;

constexpr std::string_view kDiamond = R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %c : f32[4] = [1.0, -2.0, 3.0, -4.0]
  [%a : f32[4]] = Add.14[%x, %c] "a"
  [%b : f32[4]] = Relu.14[%a] "b"
  [%d : f32[4]] = Mul.14[%a, %c] "d"
  [%y : f32[4]] = Sub.14[%b, %d] "y"
  output [%y, %a]
}
)";

constexpr std::string_view kMirrored = R"(
subgraph @0 "main" {
  input %x : f32[N,2]
  const %c : f32[2] = [1.0, -2.0]
  [%a : f32[N,2]] = Add.14[%x, %c] "a"
  [%y : f32[N,2]] = Relu.14[%a] "y"
  output [%y]
}
)";

sluice::testing::Sim own_memory_machine(std::string_view memory_bytes = "1000000") {
  auto sim = sluice::testing::make_sim(
      fmt::format(R"({{"devices": [{{"count": 2, "host_memory": false, "memory_bytes": {}}}]}})",
                  memory_bytes));
  EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
  return std::move(sim).value();
}

/// `numbers`: by operation, 0 for `reference` and 1 for `sim`.
package::Executable split(std::string_view graph, std::vector<std::int16_t> numbers) {
  auto executable = executable_of(graph);
  executable.backends = {"reference", "sim"};
  executable.backend_of.front() = std::move(numbers);
  return executable;
}

TEST(DeviceMirror, EverySplitEqualsTheWholeModel) {
  const sluice::testing::Sim sim = own_memory_machine();
  for (int mask = 0; mask < 16; ++mask) {
    std::vector<std::int16_t> numbers;
    for (int bit = 0; bit < 4; ++bit) numbers.push_back(static_cast<std::int16_t>(mask >> bit & 1));
    LoadOptions options;
    options.num_threads = 1;
    const auto model = LoadedModel::load(split(kDiamond, numbers), sim.registry, options);
    ASSERT_TRUE(model.is_ok()) << mask << ": " << model.status().to_string();
    Context context = model->create_context().value();
    for (const float value : {1.0F, 2.0F}) {
      Aligned<float> x({value, value, value, value});
      ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
      const Status status = context.run();
      ASSERT_TRUE(status.is_ok()) << mask << ": " << status.to_string();
      const float up = value - 1;
      EXPECT_THAT(floats(context.output(1)), ElementsAre(2 + up, -1 + up, 4 + up, -3 + up)) << mask;
      EXPECT_EQ(floats(context.output(0))[3], std::max(0.0F, -3 + up) - (-3 + up) * -4) << mask;
    }
  }
}

int count_of(const std::string& text, std::string_view part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DeviceMirror, TensorsGoBetweenDevicesOfAPlugInWithoutTheHost) {
  auto sim = sluice::testing::make_sim(R"({"devices": [{"count": 2, "host_memory": false}],
                                           "links": [{"a": 0, "b": 1}]})");
  ASSERT_TRUE(sim.is_ok()) << sim.status().to_string();
  package::Executable executable = split(kDiamond, {1, 2, 1, 2});
  executable.backends.emplace_back("sim:1");
  LoadOptions options;
  options.num_threads = 1;
  const auto model = LoadedModel::load(std::move(executable), sim->registry, options);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = model->create_context().value();
  const std::string before = sim->time->log();
  Aligned<float> x({1, 1, 1, 1});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  const Status status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, -2, -8, -12));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(2, -1, 4, -3));
  const std::string log = sim->time->log().substr(before.size());
  EXPECT_EQ(count_of(log, "to_device bytes"), 1) << "x\n" << log;
  EXPECT_EQ(count_of(log, "to_host bytes"), 2) << "a and y are outputs\n" << log;
  EXPECT_EQ(count_of(log, "way=link0-1 bytes"), 2) << "a for b, and d for y\n" << log;
  EXPECT_EQ(count_of(log, "within bytes"), 2) << "a for d, and b for y\n" << log;
  EXPECT_EQ(context.copied_bytes(), 7 * 16);
}

TEST(DeviceMirror, TensorThatTheHostReadsTooIsCopiedThereOnce) {
  const sluice::testing::Sim sim = own_memory_machine();
  package::Executable executable = split(kDiamond, {1, 2, 0, 0});
  executable.backends.emplace_back("sim:1");
  LoadOptions options;
  options.num_threads = 1;
  const auto model = LoadedModel::load(std::move(executable), sim.registry, options);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = model->create_context().value();
  for (const float value : {1.0F, 2.0F}) {
    Aligned<float> x({value, value, value, value});
    ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
    const std::int64_t before = context.copied_bytes();
    const Status status = context.run();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    const float up = value - 1;
    EXPECT_THAT(floats(context.output(1)), ElementsAre(2 + up, -1 + up, 4 + up, -3 + up));
    EXPECT_EQ(context.copied_bytes() - before, 4 * 16) << "x, a twice, b";
  }
}

TEST(DeviceMirror, DynamicShapesAreCopiedInTheirSize) {
  const sluice::testing::Sim sim = own_memory_machine();
  const auto model = LoadedModel::load(split(kMirrored, {1, 0}), sim.registry, {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = model->create_context().value();
  for (const std::int64_t rows : {1, 3, 2}) {
    Aligned<float> x(std::vector<float>(static_cast<std::size_t>(rows) * 2, 1.0F));
    ASSERT_TRUE(context.set_input(0, f32_view(x, {rows, 2})).is_ok());
    const Status status = context.run();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    std::vector<float> expected;
    for (std::int64_t row = 0; row < rows; ++row) expected.insert(expected.end(), {2, 0});
    EXPECT_EQ(floats(context.output(0)), expected);
  }
}

/// x + 1000 captured numbers, summed up in each of 5 iterations.
constexpr std::string_view kLoopWithCapture = R"(
subgraph @0 "main" {
  input %x : f32[1000]
  const %five : i64[] = [5]
  const %zero : f32[1000] = zeros
  [%sum : f32[1000]] = Loop.25[%five, _, %zero, %x] {body = @1, captures = 1}
  output [%sum]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %sum : f32[1000]
  input %x : f32[1000]
  const %true : bool[] = hex 01
  [%next : f32[1000]] = Add.14[%sum, %x] "next"
  output [%true, %next]
}
)";

TEST(DeviceMirror, CapturedTensorsAreCopiedOnceForAllIterations) {
  const sluice::testing::Sim sim = own_memory_machine();
  std::string text(kLoopWithCapture);
  std::string zeros = "[0";
  for (int i = 1; i < 1000; ++i) zeros += ", 0";
  text.replace(text.find("zeros"), 5, zeros + "]");
  auto executable = executable_of(text);
  executable.backends = {"reference", "sim"};
  executable.backend_of[1] = {1};
  const auto model = LoadedModel::load(std::move(executable), sim.registry, {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = model->create_context().value();
  const auto copies_to_device = [&] { return count_of(sim.time->log(), "to_device bytes=4000"); };
  for (const float value : {1.0F, 2.0F}) {
    const int before = copies_to_device();
    const std::int64_t bytes_before = context.copied_bytes();
    Aligned<float> x(std::vector<float>(1000, value));
    ASSERT_TRUE(context.set_input(0, f32_view(x, {1000})).is_ok());
    const Status status = context.run();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_EQ(floats(context.output(0)), std::vector<float>(1000, 5 * value));
    EXPECT_EQ(copies_to_device() - before, 1 + 5) << "x once, the sum in each iteration";
    // Each iteration copies its sum back, and the host a bool from a constant to an output.
    EXPECT_EQ(context.copied_bytes() - bytes_before, 4000 * (1 + 5 + 5) + 5);
  }
}

TEST(DeviceMirror, PredictedMemoryIsWhatADeviceGives) {
  for (const ExecutorKind kind : {ExecutorKind::kLinear, ExecutorKind::kDataflow}) {
    const sluice::testing::Sim sim = own_memory_machine();
    LoadOptions options;
    options.num_threads = 1;
    options.executor = kind;
    const auto model = LoadedModel::load(split(kDiamond, {0, 1, 1, 1}), sim.registry, options);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    EXPECT_EQ(sim.time->memory_used_bytes(0), 0) << "the prediction comes before any allocation";
    const auto use = model->device_use();
    ASSERT_EQ(use.size(), 1U);
    EXPECT_EQ(use[0].backend, "sim");
    EXPECT_EQ(use[0].constant_bytes, 256) << "the smallest block";
    const Context context = model->create_context().value();
    const std::int64_t used = sim.time->memory_used_bytes(0);
    EXPECT_GT(used, 0);
    EXPECT_NEAR(static_cast<double>(use[0].constant_bytes + use[0].tensor_bytes),
                static_cast<double>(used), 0.05 * static_cast<double>(used));
  }
}

TEST(DeviceMirror, DeviceThatIsTooSmallIsNamedWithTheNode) {
  const sluice::testing::Sim sim = own_memory_machine("100");
  LoadOptions options;
  options.num_threads = 1;
  const auto model = LoadedModel::load(split(kDiamond, {0, 1, 1, 0}), sim.registry, options);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_THAT(model->create_context().status().message(),
              AllOf(HasSubstr("node \"b\" (Relu)"), HasSubstr("sim"), HasSubstr("100 bytes")));
}

TEST(DeviceMirror, LostDeviceFailsTheRunAndNothingHangs) {
  const sluice::testing::Sim sim = own_memory_machine();
  const auto model = LoadedModel::load(split(kDiamond, {1, 1, 1, 1}), sim.registry, {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = model->create_context().value();
  Aligned<float> x({1, 1, 1, 1});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  ASSERT_TRUE(sim.time->inject_fault(R"({"kind": "lost_device", "device": 0})").is_ok());
  EXPECT_THAT(context.run().message(), HasSubstr("sim"));
}

}  // namespace
}  // namespace sluice::exec
