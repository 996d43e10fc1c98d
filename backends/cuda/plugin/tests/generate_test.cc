// Texts of generated kernels, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/compile/nvrtc.h"
#include "plugin/generate/formulas.h"
#include "plugin/generate/text.h"

namespace sluice::cuda {
namespace {

using testing::HasSubstr;

TEST(BroadcastIndex, EqualShapesNeedNoArithmetic) {
  const std::vector<std::int64_t> dims = {2, 3};
  EXPECT_EQ(broadcast_index("i", dims, dims), "i");
}

TEST(BroadcastIndex, StretchedAxesDoNotCount) {
  const std::vector<std::int64_t> dims = {2, 3, 4};
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{4}, dims), "i % 4");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{3, 1}, dims), "i / 4 % 3");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{2, 1, 4}, dims), "i % 4 + (i / 12) * 4");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{}, dims), "0");
}

TEST(BroadcastIndex, NeighboursThatAreOneAxisAreOne) {
  const std::vector<std::int64_t> dims = {2, 3, 4, 5};
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{4, 5}, dims), "i % 20");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{2, 3, 1, 1}, dims), "i / 20");
}

TEST(OffsetAlong, CountsOnlyTheGivenAxes) {
  const std::vector<std::int64_t> dims = {2, 3, 4};
  EXPECT_EQ(offset_along("j", dims, std::vector<std::size_t>{0, 2}), "j % 4 + (j / 4) * 12");
  EXPECT_EQ(offset_along("j", dims, std::vector<std::size_t>{1}), "j * 4");
  EXPECT_EQ(offset_along("j", dims, std::vector<std::size_t>{0, 1}), "j * 4");
}

TEST(Formulas, UnknownOperatorIsRefusedByName) {
  std::string expression;
  const std::vector<std::string> names = {"a"};
  const Status status = write_formula(
      "Where", plugin::Attributes(std::span<const sluice_attribute>()), names, &expression);
  EXPECT_EQ(status.code, SLUICE_UNIMPLEMENTED);
  EXPECT_THAT(status.text, HasSubstr("Where"));
}

TEST(Formulas, OperatorsOfAnyNumberOfInputsNest) {
  std::string expression;
  const std::vector<std::string> names = {"a", "b", "c"};
  ASSERT_TRUE(write_formula("Sum", plugin::Attributes(std::span<const sluice_attribute>()), names,
                            &expression)
                  .is_ok());
  EXPECT_EQ(expression, "((a + b) + c)");
}

TEST(Compiler, MissingLibraryIsNamedWithTheRemedy) {
  Nvrtc compiler("libnvrtc-that-is-not-there.so");
  std::string ptx;
  const Status status = compiler.compile("", "compute_75", &ptx);
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("libnvrtc-that-is-not-there.so"));
  EXPECT_THAT(status.text, HasSubstr("SLUICE_CUDA_NVRTC"));
}

TEST(Compiler, LogOfAWrongTextIsTheError) {
  Nvrtc compiler("");
  if (Status status = compiler.open(); !status.is_ok()) GTEST_SKIP() << status.text;
  std::string ptx;
  EXPECT_THAT(compiler.compile("nonsense;", "compute_75", &ptx).text,
              HasSubstr("kernel.cu(1): error"));
  EXPECT_EQ(compiler.compile("extern \"C\" __global__ void k() {}", "compute_75", &ptx).text, "");
  EXPECT_THAT(ptx, HasSubstr(".target sm_75"));
}

}  // namespace
}  // namespace sluice::cuda
