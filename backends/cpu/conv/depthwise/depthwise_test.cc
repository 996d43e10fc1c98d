#include "conv/depthwise/depthwise.h"

#include <gtest/gtest.h>

#include "testing/naive_conv.h"

namespace sluice::cpu {
namespace {

using testing::ConvCase;
using testing::describe;
using testing::largest_difference;
using testing::naive_conv;

ConvShape depthwise(std::int64_t channels, std::int64_t size, std::int64_t kernel,
                    std::int64_t stride, std::int64_t pad) {
  ConvShape s = testing::square(channels, channels, size, kernel, stride, pad);
  s.groups = channels;
  return s;
}

std::vector<float> planned_depthwise(const ConvCase& c, Isa isa, int workers) {
  const DepthwisePlan plan = plan_depthwise(c.shape, c.epilogue, isa);
  const ConvShape& s = c.shape;
  const std::int64_t out_pixels = s.output().h * s.output().w;
  std::vector<float> packed(static_cast<std::size_t>(packed_depthwise_size(s)), NAN);
  pack_depthwise(s, c.weights.data(), packed.data());
  const auto bias = testing::padded(c.bias);
  const auto input = testing::to_blocked(c.input, s.batch, s.in_channels, s.input.h * s.input.w);
  auto output = testing::to_blocked(c.residual, s.batch, s.out_channels, out_pixels);
  const ConvArgs args = {input.data(), packed.data(), bias.data(), output.data(), output.data()};
  for (int i = 0; i < workers; ++i) run_depthwise(plan, args, {i, workers, nullptr});
  return testing::to_planes(output, s.batch, s.out_channels, out_pixels);
}

void expect_right(const ConvShape& shape) {
  ASSERT_EQ(refusal(shape), nullptr) << describe(shape);
  ASSERT_TRUE(is_depthwise(shape));
  for (const ConvEpilogue& epilogue :
       {ConvEpilogue{}, ConvEpilogue{true, kReluBounds}, ConvEpilogue{false, {-0.25F, 0.5F}}}) {
    const ConvCase c(shape, epilogue);
    const std::vector<float> expected = naive_conv(c);
    for (const Isa isa : isas_to_test()) {
      for (const int workers : {1, 2, 3}) {
        EXPECT_LE(largest_difference(planned_depthwise(c, isa, workers), expected), 2e-5)
            << describe(shape) << " " << isa_name(isa) << " " << workers << " workers";
      }
    }
  }
}

TEST(Depthwise, CommonFiltersMatchPlainLoopsAtEveryWidth) {
  for (const std::int64_t kernel : {3, 5, 7}) {
    for (const std::int64_t stride : {1, 2}) {
      for (std::int64_t size = 1; size <= 31; ++size) {
        expect_right(depthwise(24, size, kernel, stride, kernel / 2));
      }
    }
  }
}

TEST(Depthwise, WorkersShareRowsOfTallImagesAndBlocksOfSmallOnes) {
  for (const std::int64_t size : {5, 7, 8, 17}) {
    for (const std::int64_t batch : {1, 2, 5}) {
      ConvShape s = depthwise(40, size, 3, 1, 1);
      s.batch = batch;
      expect_right(s);
      s.stride = {2, 2};
      expect_right(s);
    }
  }
}

TEST(Depthwise, ImagesBeyondTheCacheMatchPlainLoops) { expect_right(depthwise(48, 105, 3, 2, 1)); }

TEST(Depthwise, OtherFiltersMatchPlainLoops) {
  expect_right(depthwise(3, 9, 2, 1, 0));
  expect_right(depthwise(40, 12, 4, 2, 1));
  expect_right(depthwise(16, 15, 3, 3, 1));
  expect_right(depthwise(17, 20, 9, 1, 4));
  ConvShape s = depthwise(16, 15, 3, 1, 2);
  s.dilation = {2, 2};
  expect_right(s);
  s.dilation = {3, 1};
  expect_right(s);
}

TEST(Depthwise, UnevenPadsMatchPlainLoops) {
  ConvShape s = depthwise(16, 16, 3, 2, 0);
  s.pad_end = {1, 1};
  expect_right(s);
  s.pad_begin = {2, 2};
  s.pad_end = {0, 2};
  expect_right(s);
  s.pad_begin = {5, 6};
  s.pad_end = {4, 7};
  expect_right(s);
  s.batch = 2;
  s.input = {3, 2};
  s.stride = {1, 1};
  expect_right(s);
}

}  // namespace
}  // namespace sluice::cpu
