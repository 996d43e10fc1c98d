// Parallel execution and its cost, in virtual time: the claims of docs/seed-coverage.
#include <gmock/gmock.h>

#include "package/executable.h"
#include "sim_engine.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kParallelKernelNs = 20'000;
/// Copies cost next to nothing: what is measured is kernels.
constexpr const char* kTwoDevices = R"({"devices": [{"count": 2, "cores": 2,
    "compute": {"kernel_ns": 20000},
    "copy": {"to_device": {"latency_ns": 1, "bytes_per_s": 1e15},
             "to_host": {"latency_ns": 1, "bytes_per_s": 1e15}}}]})";

/// Two segments, a core each.
LoadRequest two_segments(int depth = 0) {
  LoadRequest request = load_of(add_relu_in({1, 1}, "sim"));
  request.depth = depth;
  return request;
}

TEST(ParallelClaims, ModelsOnDifferentGroupsTakeNoTimeFromEachOther) {
  constexpr int kCount = 200;
  SimEngine machine(R"({"devices": [{"cores": 4, "compute": {"kernel_ns": 20000},
      "copy": {"to_device": {"latency_ns": 1, "bytes_per_s": 1e15, "engines": 2},
               "to_host": {"latency_ns": 1, "bytes_per_s": 1e15, "engines": 2}}}]})");
  const terms::ModelHandle left = machine.load(two_segments());
  const terms::ModelHandle right = machine.load(two_segments());
  const std::int64_t alone = machine.run({left}, kCount);
  const std::int64_t together = machine.run({left, right}, kCount);
  EXPECT_NEAR(static_cast<double>(together), static_cast<double>(alone),
              static_cast<double>(alone) * 0.001);
}

TEST(ParallelClaims, HungDeviceAndItsLossLeaveOtherGroupsAtTheirSpeed) {
  constexpr int kCount = 100;
  SimEngine machine(kTwoDevices);
  LoadRequest request = two_segments();
  request.where.devices = {terms::DeviceId(0)};
  const terms::ModelHandle healthy = machine.load(request);
  request.where.devices = {terms::DeviceId(1)};
  const terms::ModelHandle hung = machine.load(request);
  const std::int64_t alone = machine.run({healthy}, kCount);
  ASSERT_TRUE(machine.time().inject_fault(R"({"kind": "hung_kernel", "device": 1})").is_ok());
  Request doomed = request_of(1);
  const Cookie cookie = machine.engine().post(hung, doomed).value();
  EXPECT_EQ(machine.run({healthy}, kCount), alone);
  EXPECT_EQ(machine.engine().poll(cookie).code, RuntimeCode::kPending);
  ASSERT_TRUE(machine.time().inject_fault(R"({"kind": "lost_device", "device": 1})").is_ok());
  EXPECT_EQ(machine.run({healthy}, kCount), alone);
  EXPECT_EQ(machine.engine().poll(cookie).code, RuntimeCode::kDeviceError);
}

TEST(ParallelClaims, DefaultDepthKeepsEverySegmentBusy) {
  constexpr int kCount = 400;
  SimEngine machine(kTwoDevices);
  const terms::ModelHandle model = machine.load(two_segments());
  EXPECT_EQ(machine.engine().info(model)->depth, 3) << "two cores and one more";
  const auto taken = static_cast<double>(machine.run({model}, kCount));
  const double bound =
      static_cast<double>(kParallelKernelNs) * kCount;  // a request each slowest stage
  EXPECT_GE(taken, bound);
  EXPECT_LE(taken, bound * 1.05);
}

TEST(ParallelClaims, SeveralRequestsAreInDifferentSegmentsAtOnce) {
  SimEngine machine(kTwoDevices);
  const terms::ModelHandle model = machine.load(two_segments(2));
  const std::int64_t taken = machine.run({model}, 2);
  // The second request is in the first segment while the first one is in the second: three kernels'
  // time instead of four, and a copy in and out.
  EXPECT_EQ(taken, 3 * kParallelKernelNs + 2);
}

TEST(ParallelClaims, InSharedModeTheCoresSwitchFromSegmentToSegment) {
  constexpr std::int64_t kSwitchNs = 7'000;
  const auto latency_of = [](std::int32_t cores) {
    SimEngine machine(R"({"devices": [{"cores": 2, "compute": {"kernel_ns": 20000,
        "switch_ns": 7000}, "copy": {"to_device": {"latency_ns": 1, "bytes_per_s": 1e15},
                                     "to_host": {"latency_ns": 1, "bytes_per_s": 1e15}}}]})");
    LoadRequest request = two_segments();
    request.group = machine.engine().create_group({.num_cores = cores}).value();
    const terms::ModelHandle model = machine.load(request);
    EXPECT_TRUE(machine.engine().start(model).is_ok());
    machine.run({model}, 1);  // the first program of a group pays no switch
    return machine.run({model}, 1);
  };
  const std::int64_t normal = latency_of(2);
  EXPECT_EQ(normal, 2 * kParallelKernelNs + 2);
  EXPECT_EQ(latency_of(1), normal + 2 * kSwitchNs) << "to the second segment and back to the first";
}

TEST(ParallelClaims, SegmentsOnTheHostRunBesideTheDevicesAndCountForTheDepth) {
  SimEngine machine(kTwoDevices);
  package::Executable mixed = *add_relu("sim");
  mixed.backends = {"sim", "cpu"};
  mixed.backend_of = {{0, 1}};  // Add on the device, Relu on the host's processors
  const terms::ModelHandle model =
      machine.load(load_of(std::make_shared<const package::Executable>(std::move(mixed))));
  const terms::ModelInfo info = machine.engine().info(model).value();
  EXPECT_EQ(info.mode, terms::LoadMode::kNormal);
  EXPECT_EQ(info.depth, 3) << "one core, one segment on the host, one more";
  EXPECT_EQ(machine.engine().num_free_cores(), 3) << "the host's segment takes no core";
  Request request = request_of(1);
  request.wants_detail = true;
  const Reply reply = machine.engine().infer(model, std::move(request));
  ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  EXPECT_THAT(reply.detail.backends, ElementsAre("sim", "cpu"));
}

}  // namespace
}  // namespace sluice::runtime
