// What the installed cuDNN plans for a GPU that is described to it. Nothing runs, so that this
// needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/libraries/convolution_call.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using ::testing::HasSubstr;
using testing::Shape;
using testing::TestOp;

/// A GPU with 132 multiprocessors of capability 9.0, as cuDNN writes it.
constexpr std::string_view kGpu =
    R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],)"
    R"( "deviceVer": 900, "multiProcessorCount": 132, "warpSize": 32, "regsPerBlock": 65536,)"
    R"( "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,)"
    R"( "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,)"
    R"( "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,)"
    R"( "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0,)"
    R"( "supportCoopLaunch": 1, "driverVer": 13000, "cudaDeviceId": 0,)"
    R"( "totalGlobalMem": 150000000000, "pciDeviceId": 0, "deviceName": "a GPU"})";

class CudnnPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Status status = open_cudnn("", &dnn_); !status.is_ok()) GTEST_SKIP() << status.text;
    if (dnn_.get_version() < 90800) GTEST_SKIP() << name_of(dnn_) << " plans for no other GPU";
    gpu_ = std::make_unique<DnnObject>(dnn_, DnnKind::kDeviceProperties);
    gpu_->set_all(DnnAttribute::kDeviceJson, DnnAttributeType::kChar,
                  std::span<const char>(kGpu.data(), kGpu.size()))
        .finalize("describing a GPU");
    if (!gpu_->status().is_ok()) GTEST_SKIP() << gpu_->status().text;
    device_ = {&dnn_, nullptr, gpu_->get(), false};
  }

  Status plan(TestOp& op) {
    call_.reset();
    epilogue_ = {};
    return plan_convolution(device_, op.get(), &epilogue_, &call_);
  }

  Cudnn dnn_;
  std::unique_ptr<DnnObject> gpu_;
  DnnDevice device_;
  Epilogue epilogue_;
  std::unique_ptr<const LibraryCall> call_;
};

constexpr sluice_element_type kFloatTypes[] = {plugin::kF16, plugin::kBf16, plugin::kF32};

TEST_F(CudnnPlans, ConvolutionsOfEveryTypeAndShape) {
  for (const auto type : kFloatTypes) {
    TestOp plain("Conv", type);
    plain.input({1, 64, 56, 56}).input({64, 64, 3, 3}).output({1, 64, 56, 56});
    plain.set("pads", {1, 1, 1, 1});
    EXPECT_EQ(plan(plain).text, "");
    TestOp first("Conv", type);
    first.input({32, 3, 224, 224}).input({64, 3, 7, 7}).input({64}).output({32, 64, 112, 112});
    first.set("pads", {3, 3, 3, 3}).set("strides", {2, 2});
    EXPECT_EQ(plan(first).text, "");
    EXPECT_EQ(epilogue_.bias, 2);
    TestOp by_channel("Conv", type);
    by_channel.input({1, 32, 28, 28}).input({32, 1, 3, 3}).output({1, 32, 28, 28});
    by_channel.set("pads", {1, 1, 1, 1}).set_int("group", 32);
    EXPECT_EQ(plan(by_channel).text, "");
    TestOp line("Conv", type);
    line.input({2, 16, 100}).input({32, 16, 5}).output({2, 32, 96});
    EXPECT_EQ(plan(line).text, "");
    TestOp volume("Conv", type);
    volume.input({1, 8, 16, 16, 16}).input({8, 8, 3, 3, 3}).output({1, 8, 14, 14, 14});
    EXPECT_EQ(plan(volume).text, "");
  }
}

TEST_F(CudnnPlans, BodyOfAResidualBlockIsOneCall) {
  for (const auto type : kFloatTypes) {
    TestOp op("Conv", type);
    op.input({32, 64, 56, 56}).input({256, 64, 1, 1}).input({256}).output({32, 256, 56, 56});
    op.body_input({32, 256, 56, 56}).step("Add", {0, 1}).step("Relu", {2});
    EXPECT_EQ(plan(op).text, "");
    EXPECT_EQ(epilogue_.bias, 2);
    EXPECT_EQ(epilogue_.addend, 3);
    EXPECT_TRUE(epilogue_.has_relu);
    EXPECT_EQ(epilogue_.num_steps, 2);
    TestOp relu("Conv", type);
    relu.input({1, 64, 56, 56}).input({64, 64, 3, 3}).input({64}).output({1, 64, 54, 54});
    relu.step("Relu", {0});
    EXPECT_EQ(plan(relu).text, "");
    EXPECT_TRUE(epilogue_.has_relu);
  }
}

TEST_F(CudnnPlans, WorkspaceIsBounded) {
  TestOp op("Conv", plugin::kF16);
  op.input({256, 64, 224, 224}).input({64, 64, 3, 3}).output({256, 64, 222, 222});
  EXPECT_EQ(plan(op).text, "");
  EXPECT_LE(call_->needs().workspace_bytes, std::size_t{256} << 20);
}

TEST_F(CudnnPlans, WrongShapeIsRefusedInCudnnsWords) {
  TestOp op("Conv", plugin::kF16);
  op.input({1, 64, 56, 56}).input({64, 64, 3, 3}).output({1, 64, 99, 99});
  EXPECT_THAT(plan(op).text, HasSubstr("cuDNN 9."));
}

}  // namespace
}  // namespace sluice::cuda
