// Convolutions through a library that looks like cuDNN, on an emulated device, against the kernels
// that are generated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/libraries/testing/fake_libraries.h"

namespace sluice::cuda {
namespace {

using ::testing::HasSubstr;
using testing::Shape;
using testing::TestOp;

class LibraryConvolutions : public testing::FakeLibraries {
 protected:
  static testing::FakeCudnn& fake() { return testing::fake_cudnn(); }

  /// Makes a convolution of images with 4 channels, with a bias.
  static void make_biased(TestOp& op) {
    op.input({2, 4, 7, 6}).input({6, 4, 3, 3}).input({6}).output({2, 6, 7, 6});
    op.set("pads", {1, 1, 1, 1});
  }
};

TEST_F(LibraryConvolutions, EqualGeneratedOnesInEveryTypeAndShape) {
  SLUICE_NEEDS_COMPILER();
  for (const auto type : {plugin::kF32, plugin::kF16, plugin::kBf16}) {
    TestOp plain("Conv", type);
    make_biased(plain);
    const testing::RunResult result = compare(plain);
    EXPECT_THAT(result.library, HasSubstr("cuDNN 9.19.0"));
    EXPECT_FALSE(result.has_tail);
    TestOp steps("Conv", type);
    steps.input({1, 3, 9, 8}).input({4, 3, 3, 2}).output({1, 4, 5, 5});
    steps.set("pads", {2, 1, 2, 1}).set("strides", {2, 2}).set("dilations", {2, 1});
    EXPECT_NE(compare(steps).library, "");
    TestOp groups("Conv", type);
    groups.input({1, 6, 5, 5}).input({4, 3, 3, 3}).output({1, 4, 3, 3}).set_int("group", 2);
    EXPECT_NE(compare(groups).library, "");
    TestOp line("Conv", type);
    line.input({2, 3, 11}).input({4, 3, 3}).output({2, 4, 6});
    line.set("pads", {1, 1}).set("strides", {2});
    EXPECT_NE(compare(line).library, "");
  }
}

TEST_F(LibraryConvolutions, SumAndReluNeedNoKernelOfTheirOwn) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("Conv", plugin::kF16);
  make_biased(op);
  op.body_input({2, 6, 7, 6}).step("Add", {0, 1}).step("Relu", {2});
  const testing::RunResult result = compare(op);
  EXPECT_NE(result.library, "");
  EXPECT_FALSE(result.has_tail);
  TestOp scaled("Conv", plugin::kF32);
  scaled.input({1, 3, 5, 5}).input({4, 3, 3, 3}).output({1, 4, 3, 3}).body_input({4, 1, 1});
  scaled.step("Add", {0, 1}).step("Relu", {2}).step("Mul", {3, 1});
  EXPECT_TRUE(compare(scaled).has_tail);
}

TEST_F(LibraryConvolutions, GraphsThatTheLibraryLacksAreCutShorter) {
  SLUICE_NEEDS_COMPILER();
  for (const std::size_t max_operations : {3, 2}) {
    fake().max_operations = max_operations;
    TestOp op("Conv", plugin::kF32);
    make_biased(op);
    op.body_input({2, 6, 7, 6}).step("Add", {0, 1}).step("Relu", {2});
    const testing::RunResult result = compare(op);
    EXPECT_NE(result.library, "");
    EXPECT_TRUE(result.has_tail);
  }
  fake().max_operations = 0;
  TestOp op("Conv", plugin::kF32);
  make_biased(op);
  EXPECT_EQ(compare(op).library, "");
}

TEST_F(LibraryConvolutions, EnginesThatRoundOrVaryArePassedOver) {
  SLUICE_NEEDS_COMPILER();
  struct Case {
    DnnNumericalNote note;
    sluice_element_type type;
    bool rounds_to_tf32;
    std::int64_t engine;
  };
  using enum DnnNumericalNote;
  for (const Case& one :
       {Case{kTensorCore, plugin::kF32, false, 1}, Case{kTensorCore, plugin::kF32, true, 0},
        Case{kTensorCore, plugin::kF16, false, 0}, Case{kStrictNan, plugin::kF32, false, 0},
        Case{kNondeterministic, plugin::kF16, true, 1}, Case{kWinograd, plugin::kF16, false, 1},
        Case{kReducedSums, plugin::kF16, false, 1}}) {
    fake().notes = {one.note};
    TestOp op("Conv", one.type);
    make_biased(op);
    LibraryOptions options = with_library();
    options.rounds_to_tf32 = one.rounds_to_tf32;
    compare(op, options);
    EXPECT_EQ(fake().engine, one.engine) << static_cast<int>(one.note);
  }
}

TEST_F(LibraryConvolutions, FailureOfTheFirstRunLeavesTheGeneratedKernel) {
  SLUICE_NEEDS_COMPILER();
  fake().execute = static_cast<DnnStatus>(5000);
  TestOp op("Conv", plugin::kF32);
  make_biased(op);
  EXPECT_EQ(compare(op).library, "");
}

TEST_F(LibraryConvolutions, CanBeLeftOutAlone) {
  SLUICE_NEEDS_COMPILER();
  LibraryOptions options = with_library();
  options.convolve = false;
  TestOp op("Conv", plugin::kF32);
  make_biased(op);
  EXPECT_EQ(compare(op, options).library, "");
}

TEST_F(LibraryConvolutions, HandlesAndDescriptorsEndWithTheBackend) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("Conv", plugin::kF32);
  make_biased(op);
  compare(op);
  EXPECT_EQ(fake().num_handles, 1);
  end();
  EXPECT_EQ(fake().num_handles, 0);
  EXPECT_EQ(fake().num_descriptors, 0);
}

TEST(CudnnFile, MissingLibraryAndFunctionsAreNamedWithTheRemedy) {
  Cudnn table;
  const Status missing = open_cudnn("libcudnn-that-is-not-there.so", &table);
  EXPECT_EQ(missing.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(missing.text, HasSubstr("libcudnn-that-is-not-there.so"));
  EXPECT_THAT(missing.text, HasSubstr("SLUICE_CUDA_CUDNN"));
  EXPECT_THAT(open_cudnn("libm.so.6", &table).text, HasSubstr("lacks cudnnGetVersion"));
}

}  // namespace
}  // namespace sluice::cuda
