// Copies between devices.
#include "sim/machine.h"

namespace sluice::sim_tests {
namespace {

constexpr const char* kThree = R"({
    "devices": [{"count": 3, "copy": {"to_host": {"bytes_per_s": 1e9, "latency_ns": 500},
                                      "to_device": {"bytes_per_s": 1e9, "latency_ns": 300}}}],
    "links": [{"a": 1, "b": 0, "bytes_per_s": 4e9, "latency_ns": 20}]})";

TEST(SimLinks, LinksListTheSmallerDeviceFirst) {
  const Machine machine(kThree);
  ASSERT_EQ(machine.backend()->links().size(), 1U);
  const backend::Link& link = machine.backend()->links()[0];
  EXPECT_EQ(link.device_a, 0);
  EXPECT_EQ(link.device_b, 1);
  EXPECT_EQ(link.bytes_per_s, 4'000'000'000);
  EXPECT_EQ(link.latency_ns, 20);
}

/// How long a copy of 64 bytes takes, from one device's memory to another's.
std::int64_t copy_time(int source, int target) {
  Machine machine(kThree);
  const auto group = machine.group({0}, source);
  const auto from = machine.memory(64, source);
  const auto to = machine.memory(64, target);
  *static_cast<float*>(from.address()) = 42;
  const auto list = machine.copy(group, from.address(), to.address(), 64);
  auto stream = machine.stream(group);
  submit(stream, list);
  const std::int64_t time_ns = finish_time(machine, stream);
  EXPECT_EQ(*static_cast<float*>(to.address()), 42);
  return time_ns;
}

TEST(SimLinks, CarryCopiesBetweenTheirDevices) {
  EXPECT_EQ(copy_time(0, 1), 20 + 16);
  EXPECT_EQ(copy_time(1, 0), 20 + 16);
}

TEST(SimLinks, CopyWithoutALinkGoesThroughTheHost) { EXPECT_EQ(copy_time(0, 2), 564 + 364); }

TEST(SimLinks, CarryOneCopyInEachDirectionAtATime) {
  Machine machine(kThree);
  const auto zero = machine.group({0}, 0);
  const auto one = machine.group({0}, 1);
  const auto a = machine.memory(64, 0);
  const auto b = machine.memory(64, 1);
  const auto there = machine.copy(zero, a.address(), b.address(), 64);
  const auto there_too = machine.copy(zero, a.address(), b.address(), 64);
  const auto back = machine.copy(one, b.address(), a.address(), 64);
  auto first = machine.stream(zero);
  auto second = machine.stream(zero);
  auto third = machine.stream(one);
  submit(first, there);
  submit(second, there_too);
  submit(third, back);
  EXPECT_EQ(finish_time(machine, third), 36);
  EXPECT_EQ(finish_time(machine, first), 36);
  EXPECT_EQ(finish_time(machine, second), 72);
}

TEST(SimLinks, CopyToALostDeviceFails) {
  Machine machine(kThree);
  const auto group = machine.group({0}, 0);
  const auto a = machine.memory(64, 0);
  const auto b = machine.memory(64, 1);
  ASSERT_TRUE(machine.time().inject_fault(R"({"kind": "lost_device", "device": 1})").is_ok());
  const auto list = machine.copy(group, a.address(), b.address(), 64);
  auto stream = machine.stream(group);
  submit(stream, list);
  EXPECT_EQ(stream.wait().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace sluice::sim_tests
