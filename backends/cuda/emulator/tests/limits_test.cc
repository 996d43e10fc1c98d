// What a block and a multiprocessor may have, by compute capability.

#include "emulator/machine/limits.h"

#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

using ::testing::HasSubstr;

constexpr int kKiB = 1024;

class LimitsTest : public EmulatorTest {
 protected:
  void start_with_capability(int major, int minor) {
    Description description;
    description.devices.front().major = major;
    description.devices.front().minor = minor;
    start(std::move(description));
    code_->kernels.emplace(
        "none", HostKernel(0, [](const ptx::Launch&, LaunchMemory&) { return Fault{}; }));
    none_ = find_function("none");
  }
  CuResult allow(int bytes) {
    return cu_.func_set_attribute(none_, CuFunctionAttribute::kMaxDynamicSharedBytes, bytes);
  }
  CuResult launch_with(unsigned bytes) {
    return cu_.launch_kernel(none_, 1, 1, 1, 1, 1, 1, bytes, nullptr, nullptr, nullptr);
  }
  int attribute(CuDeviceAttribute which) {
    int value = 0;
    EXPECT_EQ(cu_.device_get_attribute(&value, which, 0), CuResult::kSuccess);
    return value;
  }
  int blocks_of(int threads, std::size_t shared_bytes) {
    int blocks = 0;
    EXPECT_EQ(
        cu_.occupancy_max_active_blocks_per_multiprocessor(&blocks, none_, threads, shared_bytes),
        CuResult::kSuccess);
    return blocks;
  }

  CuFunction none_ = nullptr;
};

TEST_F(LimitsTest, BlockGetsAsMuchSharedMemoryAsItsArchitectureHas) {
  struct Case {
    int major, minor, most;
  };
  for (const Case& gpu : {Case{7, 5, 64 * kKiB}, Case{8, 0, 163 * kKiB}, Case{8, 6, 99 * kKiB},
                          Case{8, 7, 163 * kKiB}, Case{8, 9, 99 * kKiB}, Case{9, 0, 227 * kKiB},
                          Case{10, 0, 227 * kKiB}, Case{10, 3, 227 * kKiB}, Case{12, 0, 99 * kKiB},
                          Case{12, 1, 99 * kKiB}}) {
    SCOPED_TRACE(std::to_string(gpu.major) + "." + std::to_string(gpu.minor));
    start_with_capability(gpu.major, gpu.minor);
    EXPECT_EQ(attribute(CuDeviceAttribute::kMaxSharedMemoryPerBlockOptin), gpu.most);
    EXPECT_EQ(allow(gpu.most + 1), CuResult::kInvalidValue);
    EXPECT_THAT(cu_.explain(), HasSubstr(" allows " + std::to_string(gpu.most)));
    EXPECT_EQ(launch_with(60 * kKiB), CuResult::kInvalidValue);  // without a permission
    EXPECT_EQ(allow(gpu.most), CuResult::kSuccess);
    EXPECT_EQ(launch_with(static_cast<unsigned>(gpu.most)), CuResult::kSuccess);
    EXPECT_EQ(launch_with(static_cast<unsigned>(gpu.most) + 1), CuResult::kInvalidValue);
  }
}

TEST_F(LimitsTest, MultiprocessorHoldsBlocksByThreadsNumberAndSharedMemory) {
  start_with_capability(7, 5);
  EXPECT_EQ(blocks_of(32, 0), 16);
  EXPECT_EQ(blocks_of(256, 0), 4);
  EXPECT_EQ(blocks_of(32, 32 * kKiB), 2);
  start_with_capability(8, 6);
  EXPECT_EQ(blocks_of(32, 0), 16);
  EXPECT_EQ(blocks_of(256, 0), 6);
  EXPECT_EQ(blocks_of(32, 49 * kKiB), 2);
  EXPECT_EQ(blocks_of(32, 50 * kKiB), 1);  // a KiB of each block is the driver's
  start_with_capability(9, 0);
  EXPECT_EQ(blocks_of(32, 0), 32);
  EXPECT_EQ(blocks_of(256, 0), 8);
  EXPECT_EQ(blocks_of(32, 227 * kKiB), 1);
}

}  // namespace
}  // namespace sluice::cuda::emulator
