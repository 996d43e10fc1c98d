// Memory, cores and submissions are refused when they are not there.
#include "sim/machine.h"

namespace sluice::sim_tests {
namespace {

TEST(SimMemory, AllocationsCountAgainstDeviceMemory) {
  Machine machine(R"({"devices": [{"memory_bytes": 1000}, {"memory_bytes": 100}]})");
  {
    const auto held = machine.memory(900);
    EXPECT_EQ(machine.time().memory_used_bytes(0), 900);
    const auto more = DeviceMemory::allocate(machine.backend(), 0, 101);
    EXPECT_EQ(more.status().code(), Code::kResourceExhausted);
    EXPECT_EQ(
        more.status().message(),
        "backend \"sim\": device 0 has 1000 bytes of memory and 900 are used: 101 more do not "
        "fit; free some, or use another device");
    EXPECT_TRUE(DeviceMemory::allocate(machine.backend(), 0, 100).is_ok());
    EXPECT_TRUE(DeviceMemory::allocate(machine.backend(), 1, 100).is_ok());
  }
  EXPECT_EQ(machine.time().memory_used_bytes(0), 0);
  EXPECT_TRUE(DeviceMemory::allocate(machine.backend(), 0, 1000).is_ok());
}

TEST(SimGroups, ExclusiveCoresAreRefusedUntilTheyAreFree) {
  Machine machine(R"({"devices": [{"exclusive_cores": true}]})");
  auto group = machine.group({1, 2});
  const auto other = Group::create(machine.backend(), 0, std::vector<std::int32_t>{2, 3});
  EXPECT_EQ(other.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(other.status().message(),
            "backend \"sim\": core 2 of device 0 is in use by group 1: destroy that first, or take "
            "another");
  group.reset();
  EXPECT_TRUE(Group::create(machine.backend(), 0, std::vector<std::int32_t>{2, 3}).is_ok());
}

TEST(SimGroups, MayShareCores) {
  Machine machine;
  const auto group = machine.group({1, 2});
  EXPECT_TRUE(Group::create(machine.backend(), 0, std::vector<std::int32_t>{2, 3}).is_ok());
}

TEST(SimGroups, RefuseCoresThatAreNotThereOrNamedTwice) {
  const Machine machine;
  const auto create = [&](std::vector<std::int32_t> cores) {
    return Group::create(machine.backend(), 0, cores).status();
  };
  EXPECT_EQ(create({4}).message(), "backend \"sim\": no core 4 of device 0; it has 4, from 0");
  EXPECT_EQ(create({1, 1}).message(), "backend \"sim\": core 1 of device 0 is named twice");
}

TEST(SimGroups, GroupsWithoutCoresOnlyCopy) {
  Machine machine;
  const auto group = machine.group({});
  Floats x = {1, 2};
  Floats y = {};
  auto stream = machine.stream(group);
  const auto kernels = machine.list(group, {machine.relu()}, x.data(), y.data());
  EXPECT_EQ(stream.submit(kernels, {}).message(),
            "backend \"sim\": the group has no cores: it copies, and runs no kernels");
  const auto copy = machine.copy(group, x.data(), y.data(), sizeof(x));
  submit(stream, copy);
  finish_time(machine, stream);
  EXPECT_EQ(y, x);
}

TEST(SimMemory, KernelsWithoutHostMemoryReachOnlyTheirDevice) {
  Machine machine(R"({"devices": [{"count": 2, "host_memory": false}]})");
  EXPECT_FALSE(machine.backend()->devices().front().has_host_memory);
  EXPECT_TRUE(machine.backend()->devices().front().has_own_memory);
  const auto group = machine.group({0});
  auto stream = machine.stream(group);
  const auto here = machine.memory(sizeof(Floats));
  const auto there = machine.memory(sizeof(Floats), 1);
  auto* own = static_cast<float*>(here.address());
  Floats x = {-1, 2};
  for (float* foreign : {x.data(), static_cast<float*>(there.address())}) {
    const auto list = machine.list(group, {machine.relu()}, foreign, own);
    submit(stream, list);
    EXPECT_EQ(stream.wait().message(),
              "backend \"sim\": kernel \"relu\" (Relu): device 0 reaches only its own memory; copy "
              "the tensor to it");
  }
  const auto in = machine.copy(group, x.data(), own, sizeof(x));
  const auto list = machine.list(group, {machine.relu()}, own, own);
  const auto out = machine.copy(group, own, x.data(), sizeof(x));
  for (const CommandList* step : {&in, &list, &out}) submit(stream, *step);
  finish_time(machine, stream);
  EXPECT_EQ(x, (Floats{0, 2}));
}

TEST(SimStreams, RefuseAListWhoseLastRunIsNotDone) {
  Machine machine;
  const auto group = machine.group({0});
  Floats x = {};
  const auto list = machine.list(group, {machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(group);
  submit(stream, list);
  EXPECT_EQ(stream.submit(list, {}).code(), Code::kFailedPrecondition);
  finish_time(machine, stream);
  EXPECT_TRUE(stream.submit(list, {}).is_ok());
}

TEST(SimStreams, RefuseAListOfAnotherGroup) {
  const Machine machine;
  const auto left = machine.group({0});
  const auto right = machine.group({1});
  Floats x = {};
  const auto list = machine.list(left, {machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(right);
  EXPECT_EQ(stream.submit(list, {}).code(), Code::kFailedPrecondition);
}

TEST(SimStreams, ListThatIsDestroyedLetsTheNextOneRun) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0});
  Floats x = {};
  Floats y = {};
  auto stream = machine.stream(group);
  const auto second = machine.list(group, {machine.relu()}, y.data(), y.data());
  {
    const auto first = machine.list(group, {machine.relu()}, x.data(), x.data());
    submit(stream, first);
    submit(stream, second);
    machine.time().advance_to(600);
  }
  EXPECT_EQ(finish_time(machine, stream), 1600);
}

TEST(SimDevices, DevicesMatchTheDescription) {
  const Machine machine(R"({"devices": [
      {"count": 2, "name": "accelerator {}", "bus_address": "0000:0{}:00.0", "cores": 8,
       "memory_bytes": 4096},
      {"name": "host-like", "own_memory": false}]})");
  const auto devices = machine.backend()->devices();
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[1].kind, "sim");
  EXPECT_EQ(devices[1].name, "accelerator 1");
  EXPECT_EQ(devices[1].bus_address, "0000:01:00.0");
  EXPECT_EQ(devices[1].num_cores, 8);
  EXPECT_EQ(devices[1].memory_bytes, 4096);
  EXPECT_TRUE(devices[1].has_host_memory);
  EXPECT_TRUE(devices[1].has_own_memory);
  EXPECT_TRUE(devices[1].is_simulated);
  EXPECT_EQ(devices[2].name, "host-like");
  EXPECT_FALSE(devices[2].has_own_memory);
}

}  // namespace
}  // namespace sluice::sim_tests
