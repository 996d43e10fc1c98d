#include "conv/direct/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/divide.h"
#include "testing/naive_conv.h"

namespace sluice::cpu {
namespace {

using testing::ConvCase;
using testing::describe;
using testing::largest_difference;
using testing::square;

std::vector<float> laid_out(const std::vector<float>& planes, Layout layout, std::int64_t batch,
                            std::int64_t channels, std::int64_t pixels) {
  if (layout == Layout::kPlanes) return planes;
  return testing::to_blocked(planes, batch, channels, pixels);
}

/// With `storage` of 16 bits, packed weights that are rounded to it.
std::vector<float> planned_conv(const ConvCase& c, Isa isa, int workers,
                                Storage storage = Storage::kF32) {
  const ConvPlan plan = plan_conv(c.shape, c.epilogue, isa, {}, storage);
  const ConvShape& s = c.shape;
  const std::int64_t in_pixels = s.input.h * s.input.w;
  const std::int64_t out_pixels = s.output().h * s.output().w;
  std::vector<float> packed(static_cast<std::size_t>(plan.packing.size()), NAN);
  plan.packing.pack(c.weights.data(), packed.data());
  const auto bias = testing::padded(c.bias);
  const auto input = laid_out(c.input, s.in_layout, s.batch, s.in_channels, in_pixels);
  auto output = laid_out(c.residual, s.out_layout, s.batch, s.out_channels, out_pixels);
  testing::Scratch scratch(plan.scratch_bytes());
  ConvArgs args = {input.data(), packed.data(), bias.data(), output.data(), output.data()};
  std::vector<std::uint16_t> halves(packed.size());
  if (storage != Storage::kF32) {
    SLUICE_CPU_PICK(isa, from_floats)
    (storage, packed.data(), plan.packing.size(), halves.data());
    args.weights = nullptr;
    args.half_weights = halves.data();
  }
  for (int i = 0; i < workers; ++i) run_conv(plan, args, {i, workers, scratch.data()});
  if (s.out_layout == Layout::kPlanes) return output;
  return testing::to_planes(output, s.batch, s.out_channels, out_pixels);
}

/// Every input and output layout, with and without an epilogue.
void expect_right_everywhere(const ConvShape& shape) {
  ASSERT_EQ(refusal(shape), nullptr) << describe(shape);
  const std::vector<float> sums = testing::naive_sums(ConvCase(shape, {}));
  const auto depth = static_cast<double>(shape.in_channels * shape.kernel.h * shape.kernel.w);
  const auto expect_right = [&](Layout in, Layout out, const ConvEpilogue& epilogue) {
    ConvCase c(shape, epilogue);
    c.shape.in_layout = in;
    c.shape.out_layout = out;
    const std::vector<float> expected = testing::finished(sums, c);
    for (const Isa isa : isas_to_test()) {
      for (const int workers : {1, 3}) {
        EXPECT_LE(largest_difference(planned_conv(c, isa, workers), expected), 1e-6 * (4 + depth))
            << describe(shape) << " " << isa_name(isa) << " " << workers << " workers";
      }
    }
  };
  for (const Layout in : {Layout::kPlanes, Layout::kBlocked}) {
    for (const Layout out : {Layout::kPlanes, Layout::kBlocked}) {
      expect_right(in, out, {});
      expect_right(in, out, {false, {-0.25F, 0.5F}});
    }
    expect_right(in, Layout::kBlocked, {true, kReluBounds});
  }
}

TEST(Conv, PointwiseMatchesPlainLoops) {
  for (const std::int64_t in : {3, 10, 16, 24, 40}) {
    for (const std::int64_t out : {5, 16, 24, 32, 80}) {
      expect_right_everywhere(square(in, out, 7, 1, 1, 0));
    }
  }
  expect_right_everywhere(square(32, 48, 1, 1, 1, 0));
}

TEST(Conv, TilesOfEveryWidthMatchPlainLoopsWithAndWithoutATailOfSteps) {
  for (const std::int64_t in : {3, 4, 19, 21}) {
    for (std::int64_t pixels = 1; pixels <= 17; ++pixels) {
      ConvShape s = square(in, 40, 1, 1, 1, 0);
      s.input = {1, pixels};
      expect_right_everywhere(s);
    }
  }
}

TEST(Conv, ClippingKeepsNan) {
  ConvShape s = square(16, 40, 3, 1, 1, 0);
  s.in_layout = s.out_layout = Layout::kBlocked;
  ConvCase c(s, {false, {0, 6}});
  std::fill(c.input.begin(), c.input.end(), NAN);
  for (const Isa isa : isas_to_test()) {
    for (const float x : planned_conv(c, isa, 1)) EXPECT_TRUE(std::isnan(x)) << isa_name(isa);
  }
}

TEST(Conv, BandsHaveAboutAsManyRows) {
  for (const std::int64_t pixels : {49, 121, 1023, 5001}) {
    ConvShape s = square(960, 64, 1, 1, 1, 0);
    s.in_layout = s.out_layout = Layout::kBlocked;
    s.input = {pixels, 1};
    const std::int64_t band = plan_conv(s, {}, active_isa()).band_rows;
    const std::int64_t bands = divide_up(pixels, band);
    EXPECT_GE(pixels - (bands - 1) * band, band - 2 * bands) << pixels << " pixels";
  }
}

TEST(Conv, PanelsThatLackHalfABlockMatchPlainLoops) {
  for (const std::int64_t out : {7, 8, 9, 23, 24, 25, 40}) {
    expect_right_everywhere(square(20, out, 9, 1, 1, 0));
    expect_right_everywhere(square(20, out, 6, 3, 1, 1));
  }
  expect_right_everywhere(square(1000, 24, 5, 1, 1, 0));  // several passes
}

TEST(Conv, PointwiseWithStrideMatchesPlainLoops) {
  for (const std::int64_t size : {7, 8, 15}) expect_right_everywhere(square(24, 40, size, 1, 2, 0));
}

TEST(Conv, ThreeByThreeMatchesPlainLoopsAtEveryWidth) {
  for (const std::int64_t size : {1, 2, 3, 5, 7, 8, 13, 14, 15, 20, 28, 29, 30}) {
    expect_right_everywhere(square(17, 33, size, 3, 1, 1));
  }
  for (const std::int64_t size : {7, 14, 28, 57})
    expect_right_everywhere(square(16, 48, size, 3, 2, 1));
}

TEST(Conv, FirstLayersMatchPlainLoops) {
  expect_right_everywhere(square(3, 64, 33, 7, 2, 3));
  expect_right_everywhere(square(3, 32, 31, 3, 2, 1));
  expect_right_everywhere(square(1, 6, 28, 5, 1, 2));
  expect_right_everywhere(square(3, 24, 32, 8, 8, 0));
  expect_right_everywhere(square(3, 20, 35, 11, 4, 2));
}

TEST(Conv, PatchEmbeddingsMatchPlainLoops) {
  expect_right_everywhere(square(3, 24, 64, 16, 16, 0));
  expect_right_everywhere(square(3, 24, 75, 16, 16, 0));  // a rest that no patch reads
  expect_right_everywhere(square(3, 24, 74, 10, 16, 0));  // pixels between patches
  expect_right_everywhere(square(3, 24, 60, 16, 16, 4));  // padding
  expect_right_everywhere(square(2, 20, 64, 32, 16, 8));  // patches that overlap
}

TEST(Conv, OddGeometryMatchesPlainLoops) {
  ConvShape s = square(20, 18, 13, 3, 1, 0);
  expect_right_everywhere(s);
  s.pad_begin = {2, 0};
  s.pad_end = {0, 3};
  expect_right_everywhere(s);
  s.dilation = {2, 3};
  expect_right_everywhere(s);
  s.stride = {3, 2};
  s.kernel = {2, 4};
  expect_right_everywhere(s);
  s.input = {9, 31};
  s.stride = {1, 3};
  s.dilation = {1, 2};
  expect_right_everywhere(s);
  s = square(8, 8, 9, 1, 1, 2);
  expect_right_everywhere(s);
  s = square(18, 20, 12, 1, 3, 0);
  s.stride = {3, 1};
  expect_right_everywhere(s);
}

TEST(Conv, DilatedTapsInPaddingAreSkipped) {
  for (const std::int64_t dilation : {6, 9, 12}) {
    ConvShape s = square(32, 40, 13, 3, 1, dilation);
    s.dilation = {dilation, dilation};
    EXPECT_TRUE(plan_conv(s, {}, isas_to_test().front()).skips.pays);
    expect_right_everywhere(s);
    s.pad_begin = {dilation, 2};
    s.pad_end = {1, dilation + 3};
    s.input = {25, 17};
    expect_right_everywhere(s);
    s.stride = {2, 1};
    s.batch = 2;
    expect_right_everywhere(s);
  }
}

TEST(Conv, DilatedKernelsThatSomeOutputsSeePastTheImageSkipNothing) {
  ConvShape s = square(16, 24, 13, 3, 1, 20);
  s.dilation = {6, 6};
  EXPECT_FALSE(plan_conv(s, {}, isas_to_test().front()).skips.pays);
  expect_right_everywhere(s);
}

TEST(Conv, WeightsOfSixteenBitsGiveTheSumsOfTheirFloats) {
  ConvShape dilated = square(32, 40, 13, 3, 1, 6);
  dilated.dilation = {6, 6};
  for (const ConvShape& shape : {square(3, 24, 15, 7, 2, 3), square(40, 48, 9, 3, 1, 1),
                                 square(600, 70, 5, 1, 1, 0), dilated}) {
    for (const Layout in : {Layout::kPlanes, Layout::kBlocked}) {
      ConvCase c(shape, {false, kReluBounds});
      c.shape.in_layout = in;
      c.shape.out_layout = Layout::kBlocked;
      for (const Isa isa : isas_to_test()) {
        for (const Storage storage : {Storage::kF16, Storage::kBf16}) {
          ConvCase rounded = c;
          std::vector<std::uint16_t> halves(c.weights.size());
          const auto count = static_cast<std::int64_t>(halves.size());
          SLUICE_CPU_PICK(isa, from_floats)(storage, c.weights.data(), count, halves.data());
          SLUICE_CPU_PICK(isa, to_floats)(storage, halves.data(), count, rounded.weights.data());
          for (const int workers : {1, 3}) {
            EXPECT_EQ(planned_conv(c, isa, workers, storage), planned_conv(rounded, isa, workers))
                << describe(shape) << " " << isa_name(isa);
          }
        }
      }
    }
  }
}

TEST(Conv, TapsAreSkippedInWholeBlocksOfDilatedKernelsOnly) {
  ConvShape s = square(32, 40, 13, 3, 1, 1);
  EXPECT_FALSE(plan_conv(s, {}, isas_to_test().front()).skips.pays);
  s = square(24, 40, 13, 3, 1, 9);
  s.dilation = {9, 9};
  EXPECT_FALSE(plan_conv(s, {}, isas_to_test().front()).skips.pays);
}

TEST(Conv, PadsWiderThanTheImageReadZeros) {
  ConvShape s = square(4, 8, 2, 2, 1, 0);
  s.pad_begin = {5, 6};
  s.pad_end = {4, 7};
  expect_right_everywhere(s);
  s.stride = {2, 3};
  expect_right_everywhere(s);
}

TEST(Conv, GroupsMatchPlainLoops) {
  for (const std::int64_t groups : {2, 3, 6}) {
    for (const std::int64_t per_group : {1, 2, 5, 16, 32}) {
      ConvShape s = square(groups * per_group, groups * per_group, 9, 3, 1, 1);
      s.groups = groups;
      expect_right_everywhere(s);
      s.out_channels = groups * 4;
      s.stride = {2, 2};
      expect_right_everywhere(s);
    }
  }
}

TEST(Conv, BatchesAndBandsMatchPlainLoops) {
  ConvShape s = square(64, 16, 40, 3, 1, 1);
  s.batch = 3;
  expect_right_everywhere(s);
  s = square(512, 16, 23, 1, 2, 0);
  s.batch = 2;
  expect_right_everywhere(s);
}

TEST(Conv, OneDimensionMatchesPlainLoops) {
  ConvShape s = square(12, 20, 50, 5, 2, 2);
  s.input.h = s.kernel.h = s.stride.h = 1;
  s.pad_begin.h = s.pad_end.h = 0;
  expect_right_everywhere(s);
}

TEST(Conv, RefusesUnsupportedGeometry) {
  EXPECT_NE(refusal(square(3, 4, 2, 5, 1, 0)), nullptr);
  EXPECT_NE(refusal(square(0, 4, 8, 3, 1, 0)), nullptr);
  EXPECT_NE(refusal(square(3, 4, 8, 3, 0, 0)), nullptr);
  EXPECT_NE(refusal(square(3, 4, std::int64_t{1} << 40, 3, 1, 0)), nullptr);
  EXPECT_NE(refusal(square(std::int64_t{1} << 30, 4, 1 << 20, 3, 1, 0)), nullptr);
  ConvShape s = square(6, 4, 8, 3, 1, 0);
  s.groups = 4;
  EXPECT_NE(refusal(s), nullptr);
}

}  // namespace
}  // namespace sluice::cpu
