#include <gtest/gtest.h>

#include <cmath>

#include "conv/winograd/winograd.h"
#include "testing/naive_conv.h"
#include "testing/op_testing.h"

namespace sluice::cpu {
namespace {

using testing::ConvCase;
using testing::largest_difference;
using testing::square;

enum class Fused { kNothing, kResidualRelu, kSilu, kScaleAndMap };

double silu(double x) { return x / (1 + std::exp(-x)); }

std::vector<float> channel_scale(const ConvCase& c) {
  return testing::random_floats(c.shape.out_channels, 8);
}

std::vector<float> pixel_map(const ConvCase& c) {
  return testing::random_floats(c.shape.output().h * c.shape.output().w, 9);
}

std::vector<float> expected(const ConvCase& c, Fused fused) {
  std::vector<float> y = testing::naive_conv(c);
  const auto scale = channel_scale(c);
  const auto map = pixel_map(c);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (fused == Fused::kResidualRelu) y[i] = std::max(0.0F, y[i] + c.residual[i]);
    if (fused == Fused::kSilu) y[i] = static_cast<float>(silu(y[i]));
    if (fused == Fused::kScaleAndMap) {
      y[i] = y[i] * scale[i / map.size() % scale.size()] + map[i % map.size()];
    }
  }
  return y;
}

Shape dims(std::int64_t n, std::int64_t c, Extent e) { return {n, c, e.h, e.w}; }

TestOp conv_op(const ConvCase& c, Fused fused) {
  const ConvShape& s = c.shape;
  const Extent out = s.output();
  TestOp op("Conv");
  const Shape x = dims(s.batch, s.in_channels, s.input);
  const Shape y = dims(s.batch, s.out_channels, out);
  if (s.in_layout == Layout::kBlocked) {
    op.blocked_input(x,
                     testing::to_blocked(c.input, s.batch, s.in_channels, s.input.h * s.input.w));
  } else {
    op.input(x, c.input);
  }
  op.input(dims(s.out_channels, s.in_channels / s.groups, s.kernel), c.weights, true);
  op.input({s.out_channels}, c.bias, true);
  op.attribute("group", s.groups);
  op.attribute("strides", Shape{s.stride.h, s.stride.w});
  op.attribute("pads", Shape{s.pad_begin.h, s.pad_begin.w, s.pad_end.h, s.pad_end.w});
  const bool blocked = s.out_layout == Layout::kBlocked;
  blocked ? op.blocked_output(y) : op.output(y);
  if (fused == Fused::kResidualRelu) {
    const auto r = testing::to_blocked(c.residual, s.batch, s.out_channels, out.h * out.w);
    blocked ? op.blocked_body_input(y, r) : op.body_input(y, c.residual);
    op.step("Add", {0, 1}).step("Relu", {2});
  }
  if (fused == Fused::kScaleAndMap) {
    const Shape per_channel = {1, s.out_channels, 1, 1};
    const auto scale = channel_scale(c);
    blocked ? op.blocked_body_input(per_channel, testing::to_blocked(scale, 1, s.out_channels, 1))
            : op.body_input(per_channel, scale);
    op.body_input({1, 1, out.h, out.w}, pixel_map(c)).step("Mul", {0, 1}).step("Add", {3, 2});
  }
  if (fused == Fused::kSilu) op.step("Sigmoid", {0}).step("Mul", {0, 1});
  return op;
}

void expect_right(ConvShape shape) {
  for (const Layout in : {Layout::kPlanes, Layout::kBlocked}) {
    for (const Layout out : {Layout::kPlanes, Layout::kBlocked}) {
      shape.in_layout = in;
      shape.out_layout = out;
      const ConvCase c(shape, {});
      for (const Fused fused :
           {Fused::kNothing, Fused::kResidualRelu, Fused::kSilu, Fused::kScaleAndMap}) {
        for (const Backend& backend : backends_to_test()) {
          TestOp op = conv_op(c, fused);
          const Status status = op.run(backend, 2);
          ASSERT_TRUE(status.is_ok()) << status.text;
          auto y = op.result();
          if (out == Layout::kBlocked) {
            y = testing::to_planes(y, shape.batch, shape.out_channels,
                                   shape.output().h * shape.output().w);
          }
          EXPECT_LE(largest_difference(y, expected(c, fused)), 1e-4) << testing::describe(shape);
        }
      }
    }
  }
}

TEST(CpuConv, DenseInEveryLayoutWithFusedBodies) {
  expect_right(square(20, 36, 11, 3, 2, 1));
  expect_right(square(32, 32, 8, 1, 1, 0));
}

TEST(CpuConv, DepthwiseInEveryLayoutWithFusedBodies) {
  ConvShape s = square(24, 24, 13, 3, 1, 1);
  s.groups = 24;
  expect_right(s);
}

TEST(CpuConv, WinogradInEveryLayoutWithFusedBodies) {
  const ConvShape large = square(32, 48, 12, 3, 1, 1);
  ASSERT_EQ(winograd_pays(large), WinogradTile::kFour);
  expect_right(large);
  const ConvShape small = square(64, 96, 6, 3, 1, 1);
  ASSERT_EQ(winograd_pays(small), WinogradTile::kTwo);
  expect_right(small);
}

/// Bytes that `op` wants for its weights.
std::int64_t weights_bytes(TestOp& op) {
  sluice_packing weights = {};
  EXPECT_TRUE(Backend().packing(op.op(), 1, &weights).is_ok());
  return weights.size_bytes;
}

TEST(CpuConv, TransformsWeightsOnlyWhereTheModelAllowsAndTheImageIsKnown) {
  const ConvCase c(square(32, 48, 12, 3, 1, 1), {});
  TestOp fast = conv_op(c, Fused::kNothing);
  TestOp direct = conv_op(c, Fused::kNothing);
  direct.attribute("sluice_convolution", "direct");
  EXPECT_EQ(weights_bytes(fast), 4 * weights_bytes(direct));
  sluice_op unknown = fast.op();
  std::vector<sluice_operand> inputs(unknown.inputs, unknown.inputs + unknown.num_inputs);
  const std::int64_t dims[] = {1, 32, -1, 12};
  inputs[0].tensor.dims = dims;
  unknown.inputs = inputs.data();
  sluice_packing weights = {};
  ASSERT_TRUE(Backend().packing(unknown, 1, &weights).is_ok());
  EXPECT_EQ(weights.size_bytes, weights_bytes(direct));
}

TEST(CpuConv, TakesWeightsPackedBeforeShapesWereKnown) {
  const ConvCase c(square(32, 48, 12, 3, 1, 1), {});
  TestOp direct = conv_op(c, Fused::kNothing);
  direct.attribute("sluice_convolution", "direct");
  std::vector<float> packed(static_cast<std::size_t>(weights_bytes(direct)) / sizeof(float));
  ASSERT_TRUE(Backend().pack(direct.op(), 1, packed.data()).is_ok());
  TestOp op = conv_op(c, Fused::kNothing);
  op.packed_input(1, packed.data(), weights_bytes(direct));
  ASSERT_TRUE(op.run(Backend(), 2).is_ok());
  const auto y = testing::to_planes(op.result(), 1, 48, 144);
  EXPECT_LE(largest_difference(y, testing::naive_conv(c)), 1e-4);
}

/// A convolution by Winograd's method of a file with weights of f16.
TestOp f16_conv_op(const ConvCase& c) {
  TestOp op = conv_op(c, Fused::kNothing);
  op.attribute("sluice_weights", "f16");
  return op;
}

TEST(CpuConv, TransformedWeightsOfSixteenBitFilesTakeHalf) {
  for (const std::int64_t size : {6, 12}) {
    ConvShape shape = square(64, 96, size, 3, 1, 1);
    shape.in_layout = shape.out_layout = Layout::kBlocked;
    const ConvCase c(shape, {});
    TestOp wide = conv_op(c, Fused::kNothing);
    TestOp narrow = f16_conv_op(c);
    EXPECT_LE(weights_bytes(narrow), 0.55 * static_cast<double>(weights_bytes(wide)));
    for (const Backend& backend : backends_to_test()) {
      ASSERT_TRUE(narrow.run(backend, 2).is_ok());
      const auto y = testing::to_planes(narrow.result(), 1, 96, size * size);
      EXPECT_LE(largest_difference(y, testing::naive_conv(c)), 2e-2);
    }
  }
}

TEST(CpuConv, ReadsTransformedWeightsThatAnOlderVersionPackedAsFloats) {
  ConvShape shape = square(64, 96, 12, 3, 1, 1);
  shape.in_layout = shape.out_layout = Layout::kBlocked;
  const ConvCase c(shape, {});
  TestOp older = conv_op(c, Fused::kNothing);
  const Backend backend;
  sluice_packing packing = {};
  ASSERT_TRUE(backend.packing(older.op(), 1, &packing).is_ok());
  std::vector<float> packed(static_cast<std::size_t>(packing.size_bytes) / sizeof(float));
  ASSERT_TRUE(backend.pack(older.op(), 1, packed.data()).is_ok());
  ASSERT_TRUE(older.run(backend, 1).is_ok());

  TestOp op = f16_conv_op(c);
  sluice_packing own = {};
  ASSERT_TRUE(backend.packing(op.op(), 1, &own).is_ok());
  EXPECT_STRNE(own.format, packing.format);
  op.packed_input(1, packed.data(), packing.size_bytes);
  ASSERT_TRUE(backend.packing(op.op(), 1, &own).is_ok());
  EXPECT_STREQ(own.format, packing.format) << "a package without the originals keeps its form";
  ASSERT_TRUE(op.run(backend, 1).is_ok());
  EXPECT_EQ(op.result(), older.result());
}

TEST(CpuConv, RefusesPackedWeightsOfAnotherSize) {
  TestOp op = conv_op(ConvCase(square(20, 36, 11, 3, 2, 1), {}), Fused::kNothing);
  sluice_op damaged = op.op();
  std::vector<sluice_operand> inputs(damaged.inputs, damaged.inputs + damaged.num_inputs);
  inputs[1].packed = inputs[1].tensor.data;
  inputs[1].packed_bytes = 64;
  inputs[1].tensor.data = nullptr;
  damaged.inputs = inputs.data();
  std::unique_ptr<Kernel> kernel;
  EXPECT_EQ(Backend().make_kernel(damaged, &kernel).code, SLUICE_INVALID_ARGUMENT);
}

TEST(CpuConv, AsksForBlocksAndPacksOnlyWeights) {
  const ConvCase c(square(20, 36, 11, 3, 2, 1), {});
  TestOp op = conv_op(c, Fused::kNothing);
  const Backend backend;
  sluice_op_support support = {};
  ASSERT_TRUE(backend.query(op.op(), &support).is_ok());
  EXPECT_EQ(support.preferred_layout, SLUICE_LAYOUT_C16);
  sluice_packing weights = {};
  sluice_packing bias = {};
  ASSERT_TRUE(backend.packing(op.op(), 1, &weights).is_ok());
  ASSERT_TRUE(backend.packing(op.op(), 2, &bias).is_ok());
  EXPECT_GE(weights.size_bytes, 20 * 36 * 9 * 4);
  EXPECT_EQ(bias.size_bytes, 0);
}

}  // namespace
}  // namespace sluice::cpu
