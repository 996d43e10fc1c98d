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

constexpr std::string_view kDynamic = R"(
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

TEST(DeviceMirror, DynamicShapesAreCopiedInTheirSize) {
  const sluice::testing::Sim sim = own_memory_machine();
  const auto model = LoadedModel::load(split(kDynamic, {1, 0}), sim.registry, {});
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
