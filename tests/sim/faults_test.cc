// What goes wrong on demand, by description and at run time.
#include "sim/machine.h"

namespace sluice::sim_tests {
namespace {

constexpr const char* kQuick = R"({"devices": [{"count": 2, "compute": {"kernel_ns": 1000},
    "copy": {"to_device": {"latency_ns": 1000, "bytes_per_s": 1e18}}}]})";

class SimFaults : public ::testing::Test {
 protected:
  explicit SimFaults(const std::string& description = kQuick) : machine(description) {}

  backend::FaultId inject(const std::string& fault) {
    auto id = machine.time().inject_fault(fault);
    if (!id.is_ok()) throw std::runtime_error(id.status().to_string());
    return *id;
  }

  /// Runs one kernel of that node on core 0 of device 0.
  Status run(const std::string& node = "relu") {
    const auto list = machine.list(group, {machine.relu(node)}, x.data(), y.data());
    submit(stream, list);
    return stream.wait();
  }

  Machine machine;
  std::shared_ptr<const Group> group = machine.group({0});
  Floats x = {5};
  Floats y = {};
  Stream stream = machine.stream(group);
};

TEST_F(SimFaults, SlowCoreSlowsTheGroupsThatHaveIt) {
  const auto id = inject(R"({"kind": "slow_core", "device": 0, "core": 0, "factor": 3})");
  EXPECT_TRUE(run().is_ok());
  EXPECT_EQ(machine.time().now_ns(), 3000);
  const auto other = machine.group({1});
  const auto list = machine.list(other, {machine.relu()}, x.data(), y.data());
  auto beside = machine.stream(other);
  submit(beside, list);
  EXPECT_EQ(finish_time(machine, beside), 4000);
  ASSERT_TRUE(machine.time().clear_fault(id).is_ok());
  EXPECT_TRUE(run().is_ok());
  EXPECT_EQ(machine.time().now_ns(), 5000);
}

TEST_F(SimFaults, NthKernelOfANodeFailsWithCodeAndMessage) {
  inject(R"({"kind": "failed_kernel", "node": "bad", "nth": 2, "code": "DATA_LOSS",
             "message": "bits fell over"})");
  EXPECT_TRUE(run("bad").is_ok());
  EXPECT_TRUE(run("good").is_ok());
  y = {};
  const Status status = run("bad");
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(),
            "backend \"sim\": kernel \"bad\" (Relu) failed on device 0: bits fell over");
  EXPECT_EQ(y[0], 0) << "a kernel that fails writes nothing";
  EXPECT_EQ(machine.time().now_ns(), 3000) << "it takes its time all the same";
  EXPECT_TRUE(run("bad").is_ok()) << "once";
}

TEST_F(SimFaults, FailureOfAnOperatorEndsItsListAndNoOther) {
  inject(R"({"kind": "failed_kernel", "operator": "Relu"})");
  const auto kernel = machine.relu();
  const auto first = machine.list(group, {kernel, kernel}, x.data(), y.data());
  const auto second = machine.list(group, {kernel}, x.data(), y.data());
  submit(stream, first);
  submit(stream, second);
  EXPECT_EQ(stream.wait().code(), Code::kInternal);
  EXPECT_EQ(machine.time().now_ns(), 2000) << "one kernel of the first list, one of the second";
  EXPECT_EQ(y[0], 5);
  EXPECT_TRUE(stream.wait().is_ok()) << "told once";
}

TEST_F(SimFaults, FailedCopyWritesNothing) {
  const auto memory = machine.memory(64);
  inject(R"({"kind": "failed_copy", "device": 0, "count": 0})");
  *static_cast<float*>(memory.address()) = 1;
  const auto list = machine.copy(group, x.data(), memory.address(), 64);
  for (int i = 0; i < 2; ++i) {
    submit(stream, list);
    const Status status = stream.wait();
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_NE(status.message().find("copy of 64 bytes on device0.to_device failed"),
              std::string::npos)
        << status.message();
  }
  EXPECT_EQ(*static_cast<float*>(memory.address()), 1);
}

TEST_F(SimFaults, HungKernelEndsOnlyWaitsWithATimeout) {
  const auto id = inject(R"({"kind": "hung_kernel"})");
  const auto list = machine.list(group, {machine.relu("stuck")}, x.data(), y.data());
  submit(stream, list);
  EXPECT_EQ(stream.wait(nanoseconds(9000)).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(machine.time().now_ns(), 9000);
  const Status endless = stream.wait();
  EXPECT_EQ(endless.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(endless.message(),
            "backend \"sim\": stream 1 would never be done: kernel \"stuck\" (Relu) on group1 "
            "hangs, and nothing else is left to happen");
  ASSERT_TRUE(machine.time().clear_fault(id).is_ok());
  EXPECT_TRUE(stream.wait().is_ok());
  EXPECT_EQ(y[0], 5);
}

TEST_F(SimFaults, StreamThatHangsIsDestroyedAndFreesItsCores) {
  inject(R"({"kind": "hung_kernel"})");
  const auto list = machine.list(group, {machine.relu()}, x.data(), y.data());
  {
    auto hanging = machine.stream(group);
    submit(hanging, list);
  }
  EXPECT_TRUE(run().is_ok());
}

TEST_F(SimFaults, HungKernelHoldsUpItsGroupOnly) {
  inject(R"({"kind": "hung_kernel", "node": "stuck"})");
  const auto stuck = machine.list(group, {machine.relu("stuck")}, x.data(), x.data());
  const auto behind = machine.list(group, {machine.relu()}, y.data(), y.data());
  submit(stream, stuck);
  auto waiting = machine.stream(group);
  submit(waiting, behind);
  EXPECT_EQ(waiting.wait(nanoseconds(5000)).code(), Code::kDeadlineExceeded);
  const auto beside = machine.group({1});
  const auto list = machine.list(beside, {machine.relu()}, y.data(), y.data());
  auto free = machine.stream(beside);
  submit(free, list);
  EXPECT_TRUE(free.wait().is_ok());
}

TEST_F(SimFaults, LostDeviceFailsAllItsWorkUntilItIsReset) {
  inject(R"({"kind": "lost_device", "device": 0, "from_ns": 1500})");
  EXPECT_TRUE(run().is_ok());
  const Status lost = run();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_EQ(lost.message(), "backend \"sim\": device 0 is lost; reset it, or use another");
  EXPECT_EQ(machine.time().now_ns(), 1500) << "in the middle of the kernel";
  EXPECT_EQ(run().code(), Code::kUnavailable);
  EXPECT_EQ(DeviceMemory::allocate(machine.backend(), 0, 64).status().code(), Code::kUnavailable);
  EXPECT_EQ(Group::create(machine.backend(), 0, std::vector<std::int32_t>{3}).status().code(),
            Code::kUnavailable);
  EXPECT_TRUE(DeviceMemory::allocate(machine.backend(), 1, 64).is_ok()) << "others go on";
  ASSERT_TRUE(machine.time().reset_device(0).is_ok());
  EXPECT_TRUE(run().is_ok());
}

TEST_F(SimFaults, ResetFailsRunningWork) {
  const auto list = machine.list(group, {machine.relu()}, x.data(), y.data());
  submit(stream, list);
  ASSERT_TRUE(machine.time().reset_device(0).is_ok());
  const Status status = stream.wait();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "backend \"sim\": device 0 was reset");
  EXPECT_EQ(machine.time().reset_device(2).code(), Code::kNotFound);
}

TEST_F(SimFaults, MemoryCanBeExhaustedByDemand) {
  inject(R"({"kind": "memory_exhausted", "device": 1, "nth": 2})");
  EXPECT_TRUE(DeviceMemory::allocate(machine.backend(), 1, 8).is_ok());
  const auto refused = DeviceMemory::allocate(machine.backend(), 1, 8);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(machine.time().memory_used_bytes(1), 0);
  EXPECT_TRUE(DeviceMemory::allocate(machine.backend(), 1, 8).is_ok());
}

TEST_F(SimFaults, BadFaultErrorNamesItsPath) {
  const auto refusal = [&](const std::string& fault) {
    const auto id = machine.time().inject_fault(fault);
    return id.is_ok() ? "accepted" : id.status().message();
  };
  EXPECT_EQ(refusal(R"({"kind": "gone"})"),
            "backend \"sim\": fault.kind: \"gone\"; expected one of slow_core, failed_kernel, "
            "hung_kernel, failed_copy, lost_device, memory_exhausted");
  EXPECT_EQ(refusal(R"({"kind": "lost_device"})"), "backend \"sim\": fault.device: is missing");
  EXPECT_EQ(refusal(R"({"kind": "lost_device", "device": 2})"),
            "backend \"sim\": fault.device: 2 is out of range, 0 to 1");
  EXPECT_EQ(refusal(R"({"kind": "failed_copy", "code": "OK"})"),
            "backend \"sim\": fault.code: a failure cannot be OK");
  EXPECT_EQ(machine.time().clear_fault(backend::FaultId(77)).code(), Code::kNotFound);
}

TEST(SimFaultsOfDescription, HappenWithoutBeingInjected) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}],
                      "faults": [{"kind": "failed_kernel", "nth": 2}]})");
  const auto group = machine.group({0});
  Floats x = {};
  const auto list = machine.list(group, {machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(group);
  submit(stream, list);
  EXPECT_TRUE(stream.wait().is_ok());
  submit(stream, list);
  EXPECT_EQ(stream.wait().code(), Code::kInternal);
}

}  // namespace
}  // namespace sluice::sim_tests
