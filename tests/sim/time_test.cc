// How long things take, and what waits for what.
#include "sim/machine.h"

namespace sluice::sim_tests {
namespace {

TEST(SimTime, TimeStaysZeroUntilAWait) {
  Machine machine;
  EXPECT_EQ(machine.time().now_ns(), 0);
  EXPECT_EQ(machine.time().next_event_ns(), kNoDeadline);
  machine.time().advance_to(500);
  EXPECT_EQ(machine.time().now_ns(), 500);
  machine.time().advance_to(100);
  EXPECT_EQ(machine.time().now_ns(), 500);
}

TEST(SimTime, KernelTakesVirtualTimeAndComputesRealResults) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0});
  Floats x = {-1, 2};
  Floats y = {};
  const auto list = machine.list(group, {machine.relu()}, x.data(), y.data());
  auto stream = machine.stream(group);
  submit(stream, list);
  EXPECT_EQ(y[1], 0) << "nothing is written before the kernel ends";
  EXPECT_EQ(machine.time().next_event_ns(), 1000);
  EXPECT_EQ(finish_time(machine, stream), 1000);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 2);
}

TEST(SimTime, OperatorsHaveTimesOfTheirOwn) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000, "operator_ns": {"Relu": 7}}}]})");
  const auto group = machine.group({0});
  Floats x = {};
  const auto list = machine.list(group, {machine.relu(), machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(group);
  submit(stream, list);
  EXPECT_EQ(finish_time(machine, stream), 14);
}

TEST(SimTime, CostModelDividesWorkByCores) {
  // 16 elements in, 16 out: 128 bytes at 1 byte/ns and core; 16 operations at 1e9/s and core.
  const std::string description = R"({"devices": [{"compute":
      {"flops_per_s": 1e9, "bytes_per_s": 1e9, "launch_ns": 100}}]})";
  for (const int cores : {1, 2, 4}) {
    Machine machine(description);
    const auto group = machine.group(cores == 1   ? std::vector<std::int32_t>{3}
                                     : cores == 2 ? std::vector<std::int32_t>{1, 2}
                                                  : std::vector<std::int32_t>{0, 1, 2, 3});
    Floats x = {};
    const auto list = machine.list(group, {machine.relu()}, x.data(), x.data());
    auto stream = machine.stream(group);
    submit(stream, list);
    EXPECT_EQ(finish_time(machine, stream), 100 + 128 / cores);
  }
}

TEST(SimTime, StreamsOfAGroupShareItsCoresInOrderOfSubmission) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0, 1});
  Floats x = {};
  const auto one = machine.list(group, {machine.relu(), machine.relu()}, x.data(), x.data());
  const auto two = machine.list(group, {machine.relu(), machine.relu()}, x.data(), x.data());
  auto first = machine.stream(group);
  auto second = machine.stream(group);
  submit(first, one);
  submit(second, two);
  EXPECT_EQ(finish_time(machine, first), 2000);
  EXPECT_EQ(finish_time(machine, second), 4000);
}

TEST(SimTime, GroupsRunBesideEachOther) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto left = machine.group({0});
  const auto right = machine.group({1});
  Floats x = {};
  Floats y = {};
  const auto one = machine.list(left, {machine.relu()}, x.data(), x.data());
  const auto two = machine.list(right, {machine.relu()}, y.data(), y.data());
  auto first = machine.stream(left);
  auto second = machine.stream(right);
  submit(first, one);
  submit(second, two);
  EXPECT_EQ(finish_time(machine, first), 1000);
  EXPECT_EQ(finish_time(machine, second), 1000);
}

TEST(SimTime, AnotherProgramOnAGroupCostsASwitch) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000, "switch_ns": 300}}]})");
  const auto group = machine.group({0});
  Floats x = {};
  const auto kernel = machine.relu();
  const auto a = machine.list(group, {kernel}, x.data(), x.data());
  const auto again = machine.list(group, {kernel}, x.data(), x.data());
  const auto b = machine.list(group, {machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(group);
  submit(stream, a);
  EXPECT_EQ(finish_time(machine, stream), 1000) << "the first program is no switch";
  submit(stream, again);
  EXPECT_EQ(finish_time(machine, stream), 2000) << "the same kernels are the same program";
  submit(stream, b);
  EXPECT_EQ(finish_time(machine, stream), 3300);
  submit(stream, a);
  EXPECT_EQ(finish_time(machine, stream), 4600);
}

TEST(SimTime, WaitAdvancesNoFurtherThanItsTimeout) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0});
  Floats x = {};
  const auto list = machine.list(group, {machine.relu("slow")}, x.data(), x.data());
  auto stream = machine.stream(group);
  submit(stream, list);
  EXPECT_EQ(stream.wait(nanoseconds(0)).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(machine.time().now_ns(), 0) << "a poll moves no time";
  const Status early = stream.wait(nanoseconds(400));
  EXPECT_EQ(early.code(), Code::kDeadlineExceeded);
  EXPECT_NE(early.message().find("kernel \"slow\" (Relu) on group1"), std::string::npos)
      << early.message();
  EXPECT_EQ(machine.time().now_ns(), 400);
  EXPECT_EQ(stream.wait(nanoseconds(5000)).to_string(), "ok");
  EXPECT_EQ(machine.time().now_ns(), 1000);
}

TEST(SimTime, ClockWaitsToTheNextEventOrTheDeadline) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0});
  Floats x = {};
  const auto list = machine.list(group, {machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(group);
  submit(stream, list);
  Clock& clock = machine.time();
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  clock.wait_until(lock, condition, 600);
  EXPECT_EQ(clock.now_ns(), 600);
  clock.wait_until(lock, condition, kNoDeadline);
  EXPECT_EQ(clock.now_ns(), 1000);
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_EQ(stream.wait(nanoseconds(0)).to_string(), "ok");
}

TEST(SimTime, CopyTimeIsLatencyPlusBandwidthPerDirection) {
  Machine machine(R"({"devices": [{"copy": {
      "to_device": {"bytes_per_s": 1e9, "latency_ns": 100},
      "to_host": {"bytes_per_s": 5e8, "latency_ns": 10},
      "within": {"bytes_per_s": 4e9, "latency_ns": 1}}}]})");
  const auto group = machine.group({0});
  const auto a = machine.memory(64);
  const auto b = machine.memory(64);
  Floats x = {3};
  Floats y = {};
  const auto in = machine.copy(group, x.data(), a.address(), 64);
  const auto within = machine.copy(group, a.address(), b.address(), 64);
  const auto out = machine.copy(group, b.address(), y.data(), 64);
  auto stream = machine.stream(group);
  submit(stream, in);
  EXPECT_EQ(finish_time(machine, stream), 164);
  submit(stream, within);
  EXPECT_EQ(finish_time(machine, stream), 164 + 17);
  submit(stream, out);
  EXPECT_EQ(finish_time(machine, stream), 164 + 17 + 138);
  EXPECT_EQ(y[0], 3);
}

TEST(SimTime, CopiesRunInParallelUpToTheEngineCount) {
  for (const auto& [engines, end_ns] : {std::pair{1, 3000}, std::pair{2, 2000}, {3, 1000}}) {
    Machine machine(R"({"devices": [{"copy": {"to_device": {"bytes_per_s": 1e18,
        "latency_ns": 1000, "engines": )" +
                    std::to_string(engines) + "}}}]}");
    const auto group = machine.group({0});
    const auto memory = machine.memory(64);
    const Floats x = {};
    std::vector<CommandList> lists;
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) {
      lists.push_back(machine.copy(group, x.data(), memory.address(), 64));
      streams.push_back(machine.stream(group));
      submit(streams.back(), lists.back());
    }
    machine.time().run_until_idle();
    EXPECT_EQ(machine.time().now_ns(), end_ns) << engines;
  }
}

TEST(SimTime, CopiesOfTwoListsTakeTurns) {
  Machine machine(R"({"devices": [{"copy": {"to_device": {"bytes_per_s": 1e18,
      "latency_ns": 1000}}}]})");
  const auto group = machine.group({0});
  const auto memory = machine.memory(64);
  const Floats x = {};
  auto big = CommandList::create(group).value();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(big.add_copy(backend::fixed_argument(x.data()),
                             backend::fixed_argument(memory.address()), 64)
                    .is_ok());
  }
  ASSERT_TRUE(big.finish().is_ok());
  const auto small = machine.copy(group, x.data(), memory.address(), 64);
  auto slow = machine.stream(group);
  auto quick = machine.stream(group);
  submit(slow, big);
  submit(quick, small);
  EXPECT_EQ(finish_time(machine, quick), 2000);
  EXPECT_EQ(finish_time(machine, slow), 11000);
}

TEST(SimTime, StreamIsDestroyedWhenItsWorkIsDone) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0});
  Floats x = {4};
  Floats y = {};
  const auto list = machine.list(group, {machine.relu()}, x.data(), y.data());
  {
    auto stream = machine.stream(group);
    submit(stream, list);
  }
  EXPECT_EQ(machine.time().now_ns(), 1000);
  EXPECT_EQ(y[0], 4);
}

}  // namespace
}  // namespace sluice::sim_tests
