// Convolution and pooling: small cases by hand, and whatever attributes say, no read outside.
#include <gtest/gtest.h>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

TestTensor floats(Longs dims, const Floats& values) { return {std::move(dims), values}; }
TestTensor zeros(Longs dims) {
  return floats(dims, Floats(static_cast<std::size_t>(plugin::num_elements(dims))));
}

TEST(ConvKernel, SumsTapsInsideThePaddedImage) {
  TestTensor y = zeros({1, 1, 3});
  const TestTensor x = floats({1, 1, 3}, {1, 2, 3});
  const TestTensor w = floats({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(TestOp("Conv").with("pads", Longs{1, 1}).run({x, w, floats({1}, {0.5F})}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{210.5F, 321.5F, 32.5F}));
}

TEST(ConvKernel, GroupsSeeOnlyTheirChannels) {
  TestTensor y = zeros({1, 2, 1});
  const TestTensor x = floats({1, 2, 1}, {3, 5});
  const TestTensor w = floats({2, 1, 1}, {2, 7});
  EXPECT_EQ(TestOp("Conv").with("group", 2).run({x, w}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{6, 35}));
}

TEST(ConvKernel, OutputLargerThanItsWindowsReadsPadding) {
  TestTensor y = floats({1, 1, 6}, Floats(6, 9));
  const TestTensor x = floats({1, 1, 2}, {1, 2});
  const TestTensor w = floats({1, 1, 1}, {1});
  EXPECT_EQ(TestOp("Conv").run({x, w}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 2, 0, 0, 0, 0}));
}

TEST(ConvKernel, RefusesContradictoryShapes) {
  TestTensor y = zeros({1, 1, 2});
  const TestTensor x = floats({1, 1, 2}, {1, 2});
  const TestTensor w = floats({1, 1, 1}, {1});
  EXPECT_NE(TestOp("Conv").with("group", std::int64_t{0}).run({x, w}, y), "");
  EXPECT_NE(TestOp("Conv").with("strides", Longs{0}).run({x, w}, y), "");
  EXPECT_NE(TestOp("Conv").with("dilations", Longs{std::int64_t{1} << 40}).run({x, w}, y), "");
  EXPECT_NE(TestOp("Conv").with("pads", Longs{-1, 0}).run({x, w}, y), "");
  EXPECT_NE(TestOp("Conv").run({x, floats({1, 2, 1}, {1, 1})}, y), "");
  EXPECT_NE(TestOp("Conv").run({x, w, floats({2}, {1, 1})}, y), "");
}

TEST(ConvKernel, EmptyBatchGivesAnEmptyResult) {
  TestTensor y = zeros({0, 1, 2});
  EXPECT_EQ(TestOp("Conv").run({zeros({0, 1, 2}), floats({1, 1, 1}, {1})}, y), "");
}

TEST(ConvTransposeKernel, SpreadsEveryElement) {
  TestTensor y = zeros({1, 1, 5});
  const TestTensor x = floats({1, 1, 2}, {1, 2});
  const TestTensor w = floats({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(TestOp("ConvTranspose").with("strides", Longs{2}).run({x, w}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 10, 102, 20, 200}));
}

TEST(MaxPoolKernel, PaddingIsNeverTheLargest) {
  TestTensor y = zeros({1, 1, 2});
  const TestTensor x = floats({1, 1, 2}, {-5, -7});
  EXPECT_EQ(TestOp("MaxPool")
                .with("kernel_shape", Longs{2})
                .with("strides", Longs{2})
                .with("pads", Longs{1, 1})
                .run({x}, y),
            "");
  EXPECT_EQ(y.values<float>(), (Floats{-5, -7}));
}

TEST(AveragePoolKernel, CountsPaddingOnRequest) {
  TestTensor y = zeros({1, 1, 2});
  const TestTensor x = floats({1, 1, 2}, {4, 8});
  TestOp pool("AveragePool");
  pool.with("kernel_shape", Longs{2}).with("strides", Longs{2}).with("pads", Longs{1, 1});
  EXPECT_EQ(pool.run({x}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{4, 8}));
  EXPECT_EQ(pool.with("count_include_pad", 1).run({x}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{2, 4}));
}

TEST(MaxUnpoolKernel, RefusesPositionsOutside) {
  TestTensor y = zeros({1, 1, 4});
  TestOp unpool("MaxUnpool");
  unpool.with("kernel_shape", Longs{2}).with("strides", Longs{2});
  const TestTensor x = floats({1, 1, 2}, {5, 6});
  EXPECT_EQ(unpool.run({x, {{1, 1, 2}, Longs{1, 2}}}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{0, 5, 6, 0}));
  EXPECT_NE(unpool.run({x, {{1, 1, 2}, Longs{1, 4}}}, y), "");
  EXPECT_NE(unpool.run({x, {{1, 1, 2}, Longs{-1, 2}}}, y), "");
}

}  // namespace
}  // namespace sluice::reference
