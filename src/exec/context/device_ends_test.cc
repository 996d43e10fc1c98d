// Inputs and outputs in memory of a simulated device that reaches no memory but its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/command_list.h"
#include "backend/memory.h"
#include "exec/testing/exec_testing.h"
#include "support/sim.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::executable_of;
using testing::f32_view;
using ::testing::HasSubstr;

constexpr std::string_view kSum = R"(
subgraph @0 "main" {
  input %x : f32[4]
  input %z : f32[4]
  [%a : f32[4]] = Add.14[%x, %z] "a"
  [%y : f32[4]] = Relu.14[%a] "b"
  output [%y, %a]
}
)";

constexpr std::string_view kPassedOn = R"(
subgraph @0 "main" {
  input %x : f32[4]
  [%y : f32[4]] = Relu.14[%x] "y"
  output [%y, %x]
}
)";

constexpr std::string_view kRows = R"(
subgraph @0 "main" {
  input %x : f32[N]
  [%y : f32[N]] = Relu.14[%x] "y"
  output [%y]
}
)";

class DeviceEndsTest : public ::testing::Test {
 protected:
  DeviceEndsTest() {
    auto sim = sluice::testing::make_sim(
        R"({"devices": [{"count": 2, "host_memory": false, "memory_bytes": 1000000}]})");
    EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
    sim_.emplace(std::move(sim).value());
  }

  /// `numbers`: by operation, 0 for `reference` and 1 for `sim`.
  void load(std::string_view graph, std::vector<std::int16_t> numbers) {
    auto executable = executable_of(graph);
    executable.backends = {"reference", "sim"};
    executable.backend_of.front() = std::move(numbers);
    LoadOptions options;
    options.num_threads = 1;
    auto model = LoadedModel::load(std::move(executable), sim_->registry, options);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    model_.emplace(std::move(model).value());
    context_.emplace(model_->create_context().value());
  }

  /// Memory of the device for four numbers.
  void* allocate() {
    const auto& group = model_->group_of(0);
    memory_.push_back(
        backend::DeviceMemory::allocate(group->shared_backend(), group->device(), 64).value());
    return memory_.back().address();
  }
  void copy(const void* from, void* to) {
    const auto& group = model_->group_of(0);
    auto list = backend::CommandList::create(group).value();
    ASSERT_TRUE(
        list.add_copy(backend::fixed_argument(from), backend::fixed_argument(to), 16).is_ok());
    ASSERT_TRUE(list.finish().is_ok());
    auto stream = backend::Stream::create(group).value();
    ASSERT_TRUE(stream.submit(list, {}).is_ok());
    const Status status = stream.wait();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
  }
  void* upload(const std::vector<float>& numbers) {
    Aligned<float> host(numbers);
    void* const there = allocate();
    copy(host.data(), there);
    return there;
  }
  std::vector<float> download(const void* from) {
    Aligned<float> host(std::vector<float>(4));
    copy(from, host.data());
    return {host.data(), host.data() + 4};
  }
  Status set_input(std::size_t index, void* data) {
    const terms::TensorView view = {data, 16, ir::ElementType::kF32, {4}};
    return context_->set_device_input(index, view, kFirst);
  }

  static constexpr DeviceName kFirst = {"sim", 0};
  std::optional<sluice::testing::Sim> sim_;
  std::optional<LoadedModel> model_;
  std::optional<Context> context_;
  std::vector<backend::DeviceMemory> memory_;
};

TEST_F(DeviceEndsTest, RunReadsAndWritesMemoryOfTheDevice) {
  load(kSum, {1, 1});
  void* const y = allocate();
  ASSERT_TRUE(set_input(0, upload({1, -2, 3, -4})).is_ok());
  ASSERT_TRUE(set_input(1, upload({1, 1, 1, 1})).is_ok());
  ASSERT_TRUE(context_->bind_device_output(0, y, 16, kFirst).is_ok());
  for (int run = 0; run < 2; ++run) {
    const Status status = context_->run();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_THAT(download(y), ElementsAre(2, 0, 4, 0));
    EXPECT_THAT(testing::floats(context_->output(1)), ElementsAre(2, -1, 4, -3));
  }
  EXPECT_EQ(context_->copied_bytes(), 2 * 4 * 16) << "copies within the device count too";
}

TEST_F(DeviceEndsTest, HostInputsAndOutputsFollow) {
  load(kSum, {1, 1});
  ASSERT_TRUE(set_input(0, upload({1, 1, 1, 1})).is_ok());
  ASSERT_TRUE(context_->bind_device_output(0, allocate(), 16, kFirst).is_ok());
  Aligned<float> x({5, 5, 5, 5});
  ASSERT_TRUE(context_->set_input(0, f32_view(x, {4})).is_ok());
  ASSERT_TRUE(context_->set_input(1, f32_view(x, {4})).is_ok());
  ASSERT_TRUE(context_->bind_output(0, nullptr, 0).is_ok());
  ASSERT_TRUE(context_->run().is_ok());
  EXPECT_THAT(testing::floats(context_->output(0)), ElementsAre(10, 10, 10, 10));
}

TEST_F(DeviceEndsTest, PartOnTheHostIsNamed) {
  load(kSum, {1, 0});
  Aligned<float> x({0, 0, 0, 0});
  const Status status = context_->set_device_input(0, f32_view(x, {4}), kFirst);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("of reference runs a part of the model"));
}

TEST_F(DeviceEndsTest, AnotherDeviceIsNamed) {
  load(kSum, {1, 1});
  void* const x = allocate();
  const terms::TensorView view = {x, 16, ir::ElementType::kF32, {4}};
  EXPECT_THAT(context_->set_device_input(0, view, {"sim", 1}).message(),
              HasSubstr("they are on device 1 of sim, but device 0 of sim runs a part"));
  EXPECT_THAT(context_->bind_device_output(0, x, 16, {"cuda", 0}).message(),
              HasSubstr("they are on device 0 of cuda, but device 0 of sim runs a part"));
}

TEST_F(DeviceEndsTest, OutputThatNoKernelWritesIsNamed) {
  load(kPassedOn, {1});
  EXPECT_THAT(set_input(0, allocate()).message(), HasSubstr("output \"x\" is an input"));
}

TEST_F(DeviceEndsTest, ShapesThatRunsDecideAreRefused) {
  load(kRows, {1});
  EXPECT_THAT(set_input(0, allocate()).message(), HasSubstr("decides shapes while it runs"));
}

TEST_F(DeviceEndsTest, WrongMemoryIsRefused) {
  load(kSum, {1, 1});
  auto* const memory = static_cast<std::byte*>(allocate());
  EXPECT_THAT(set_input(0, memory + 4).message(), HasSubstr("not aligned to 64 bytes"));
  EXPECT_THAT(context_->bind_device_output(0, memory + 4, 16, kFirst).message(),
              HasSubstr("not aligned to 64 bytes"));
  const Status small = context_->bind_device_output(0, memory, 15, kFirst);
  EXPECT_EQ(small.code(), Code::kResourceExhausted);
  EXPECT_THAT(small.message(), HasSubstr("output \"y\" has 16 bytes, the memory bound to it 15"));
}

TEST_F(DeviceEndsTest, MemoryOfTheHostIsRefused) {
  load(kSum, {1, 1});
  Aligned<float> host({1, 1, 1, 1});
  const Status status = context_->set_device_input(0, f32_view(host, {4}), kFirst);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("input \"x\""));
  EXPECT_THAT(status.message(), HasSubstr("no memory of device 0"));
}

TEST_F(DeviceEndsTest, BytesPastTheEndAreRefused) {
  load(kSum, {1, 1});
  EXPECT_THAT(context_->bind_device_output(0, allocate(), 128, kFirst).message(),
              HasSubstr("128 bytes at this address are no memory of device 0"));
}

TEST_F(DeviceEndsTest, MemoryThatWasFreedIsRefusedByTheRun) {
  load(kSum, {1, 1});
  ASSERT_TRUE(set_input(0, upload({1, 1, 1, 1})).is_ok());
  ASSERT_TRUE(set_input(1, upload({1, 1, 1, 1})).is_ok());
  ASSERT_TRUE(context_->run().is_ok());
  memory_.pop_back();
  const Status status = context_->run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("input \"z\""));
  ASSERT_TRUE(set_input(1, upload({2, 2, 2, 2})).is_ok());
  EXPECT_TRUE(context_->run().is_ok());
}

TEST_F(DeviceEndsTest, RefusedOutputIsBoundNoMore) {
  load(kSum, {1, 1});
  ASSERT_TRUE(set_input(0, upload({1, 1, 1, 1})).is_ok());
  ASSERT_TRUE(set_input(1, upload({1, 1, 1, 1})).is_ok());
  void* const y = allocate();
  ASSERT_TRUE(context_->bind_device_output(0, y, 16, kFirst).is_ok());
  ASSERT_FALSE(context_->bind_device_output(0, y, 4, kFirst).is_ok());
  ASSERT_TRUE(context_->run().is_ok());
  EXPECT_THAT(testing::floats(context_->output(0)), ElementsAre(2, 2, 2, 2));
}

TEST_F(DeviceEndsTest, OutputInTheMemoryOfAnInputIsRefusedByTheRun) {
  load(kSum, {1, 1});
  void* const x = upload({1, 1, 1, 1});
  ASSERT_TRUE(set_input(0, x).is_ok());
  ASSERT_TRUE(set_input(1, upload({1, 1, 1, 1})).is_ok());
  ASSERT_TRUE(context_->bind_device_output(0, x, 16, kFirst).is_ok());
  EXPECT_THAT(context_->run().message(), HasSubstr("bound to output \"y\" overlaps an input"));
}

}  // namespace
}  // namespace sluice::exec
