#include "conv/winograd/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "testing/naive_conv.h"

namespace sluice::cpu {
namespace {

using testing::ConvCase;
using testing::describe;
using testing::largest_difference;
using testing::square;

constexpr WinogradTile kTiles[] = {WinogradTile::kTwo, WinogradTile::kFour};

constexpr Storage kStorages[] = {Storage::kF32, Storage::kI16};

std::vector<float> by_winograd(const ConvCase& c, Isa isa, WinogradWeights form, int workers) {
  const WinogradPlan plan = plan_winograd(c.shape, c.epilogue, isa, form);
  const ConvShape& s = c.shape;
  const Extent out = s.output();
  std::vector<float> packed(static_cast<std::size_t>(winograd_weights_bytes(s, isa, form)) / 4,
                            NAN);
  pack_winograd(s, isa, form, c.weights.data(), packed.data());
  const auto bias = testing::padded(c.bias);
  const auto input = testing::to_blocked(c.input, s.batch, s.in_channels, s.input.h * s.input.w);
  auto output = testing::to_blocked(c.residual, s.batch, s.out_channels, out.h * out.w);
  testing::Scratch scratch(plan.scratch_bytes());
  ConvArgs args = {input.data(), packed.data(), bias.data(), output.data(), output.data()};
  if (form.has_scales()) {
    args.half_weights = reinterpret_cast<const std::uint16_t*>(packed.data());
    args.weights = nullptr;
  }
  for (int i = 0; i < workers; ++i) run_winograd(plan, args, {i, workers, scratch.data()});
  return testing::to_planes(output, s.batch, s.out_channels, out.h * out.w);
}

/// x + x, in place.
Body twice() {
  Body body;
  body.step_count = body.input_count = 1;
  body.steps[0] = {BodyOp::kAdd, 0, 0, kBodyOut};
  return body;
}

/// The largest error expected of sums of `depth` products. Weights rounded to 16 bits of their
/// largest are off by about 1e-5 of it; transforms raise that as they raise other errors.
double tolerance(WinogradWeights form, double depth) {
  const double transforms = 1e-6 * (20 + depth);
  if (!form.has_scales()) return transforms;
  const double rounding = form.tile == WinogradTile::kTwo ? 1e-4 : 1.2e-3;
  return transforms + rounding * (1 + std::sqrt(depth));
}

void expect_right(const ConvShape& shape) {
  ASSERT_EQ(winograd_refusal(shape), nullptr) << describe(shape);
  const std::vector<float> sums = testing::naive_sums(ConvCase(shape, {}));
  const auto depth = static_cast<double>(shape.in_channels * 9);
  const ConvEpilogue epilogues[] = {{}, {false, {-0.25F, 0.5F}}, {true, kReluBounds}};
  for (const ConvEpilogue& epilogue : epilogues) {
    const ConvCase c(shape, epilogue);
    const std::vector<float> expected = testing::finished(sums, c);
    for (const Isa isa : isas_to_test()) {
      for (const WinogradTile tile : kTiles) {
        for (const Storage storage : kStorages) {
          for (const int workers : {1, 3}) {
            const WinogradWeights form = {tile, storage};
            const auto outputs = by_winograd(c, isa, form, workers);
            EXPECT_LE(largest_difference(outputs, expected), tolerance(form, depth))
                << describe(shape) << " " << isa_name(isa) << " tiles of " << pixels_of(tile)
                << ", " << workers << " workers, " << storage_bytes(storage) << " bytes a weight";
          }
        }
      }
    }
  }
}

TEST(Winograd, EverySizeMatchesPlainLoops) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 14, 28, 57}) {
    expect_right(square(17, 33, size, 3, 1, 1));
  }
}

TEST(Winograd, EveryNumberOfChannelsMatchesPlainLoops) {
  for (const std::int64_t in : {1, 16, 40}) {
    for (const std::int64_t out : {1, 16, 48, 100}) expect_right(square(in, out, 11, 3, 1, 1));
  }
}

TEST(Winograd, OddGeometryMatchesPlainLoops) {
  expect_right(square(20, 18, 13, 3, 1, 0));
  ConvShape s = square(20, 18, 13, 3, 1, 0);
  s.input = {6, 40};
  s.pad_begin = {2, 0};
  s.pad_end = {0, 5};
  s.batch = 3;
  expect_right(s);
}

TEST(Winograd, RowsTooLongForABandAreCut) {
  ConvShape s = square(64, 80, 8, 3, 1, 1);
  s.input.w = 300;
  for (const WinogradTile tile : kTiles) {
    const WinogradPlan plan = plan_winograd(s, {}, active_isa(), {tile});
    ASSERT_LT(plan.band.w, plan.tiles.w) << pixels_of(tile);
  }
  expect_right(s);
}

TEST(Winograd, SmallImagesShareABand) {
  ConvShape s = square(40, 24, 7, 3, 1, 1);
  s.batch = 11;
  for (const WinogradTile tile : kTiles) {
    const WinogradPlan plan = plan_winograd(s, {}, active_isa(), {tile});
    ASSERT_GT(plan.band.h, plan.tiles.h) << pixels_of(tile);
  }
  expect_right(s);
}

TEST(Winograd, BodyRunsOverTheOutputOnce) {
  for (const std::int64_t width : {9, 300}) {
    ConvShape s = square(32, 24, 9, 3, 1, 1);
    s.input.w = width;
    s.batch = 2;
    ConvEpilogue epilogue;
    epilogue.body.body = twice();
    const ConvCase c(s, epilogue);
    std::vector<float> expected = testing::naive_sums(c);
    for (float& x : expected) x *= 2;
    for (const Isa isa : isas_to_test()) {
      for (const WinogradTile tile : kTiles) {
        for (const Storage storage : kStorages) {
          const double most = storage == Storage::kF32 ? 1e-3 : 3e-2;
          EXPECT_LE(largest_difference(by_winograd(c, isa, {tile, storage}, 2), expected), most)
              << isa_name(isa) << " " << pixels_of(tile);
        }
      }
    }
  }
}

/// Root mean square of the differences.
double typical_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST(Winograd, IntegersCostAboutWhatWeightsOfSixteenBitsCostThemselves) {
  const ConvCase c(square(128, 32, 12, 3, 1, 1), {});
  const std::vector<float> expected = testing::naive_conv(c);
  ConvCase rounded = c;
  std::vector<std::uint16_t> halves(c.weights.size());
  const auto count = static_cast<std::int64_t>(halves.size());
  const Isa any = isas_to_test().front();
  SLUICE_CPU_PICK(any, from_floats)(Storage::kF16, c.weights.data(), count, halves.data());
  SLUICE_CPU_PICK(any, to_floats)(Storage::kF16, halves.data(), count, rounded.weights.data());
  const double own = typical_difference(testing::naive_conv(rounded), expected);
  for (const Isa isa : isas_to_test()) {
    const auto error = [&](WinogradTile tile) {
      return typical_difference(by_winograd(c, isa, {tile, Storage::kI16}, 1), expected);
    };
    EXPECT_LE(error(WinogradTile::kFour), 1.5 * own) << isa_name(isa);
    EXPECT_LE(error(WinogradTile::kTwo), 0.5 * own) << isa_name(isa);
  }
}

TEST(Winograd, IntegersFollowTheMagnitudeOfEachOutputChannel) {
  ConvCase c(square(32, 24, 9, 3, 1, 1), {});
  std::fill(c.bias.begin(), c.bias.end(), 0.0F);
  const std::vector<float> expected = testing::naive_conv(c);
  const auto scale_of = [](std::size_t out) {
    return std::ldexp(1.0F, 8 * static_cast<int>(out % 12) - 48);
  };
  for (std::size_t i = 0; i < c.weights.size(); ++i) c.weights[i] *= scale_of(i / (32 * 9));
  for (const Isa isa : isas_to_test()) {
    for (const WinogradTile tile : kTiles) {
      const WinogradWeights form = {tile, Storage::kI16};
      std::vector<float> y = by_winograd(c, isa, form, 1);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] /= scale_of(i / 81);
      EXPECT_LE(largest_difference(y, expected), tolerance(form, 32 * 9)) << isa_name(isa);
    }
  }
}

TEST(Winograd, OutputChannelsWithWeightsThatAreNotFiniteAreNan) {
  ConvCase c(square(16, 20, 8, 3, 1, 1), {});
  c.weights[0] = INFINITY;
  c.weights[16 * 9 * 3 + 5] = NAN;
  for (const Isa isa : isas_to_test()) {
    for (const WinogradTile tile : kTiles) {
      const std::vector<float> y = by_winograd(c, isa, {tile, Storage::kI16}, 1);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t channel = i / 64;
        EXPECT_EQ(std::isnan(y[i]), channel == 0 || channel == 3) << channel << isa_name(isa);
      }
    }
  }
}

TEST(Winograd, PaysForManyChannelsAndLargeImages) {
  EXPECT_EQ(winograd_pays(square(64, 64, 56, 3, 1, 1)), WinogradTile::kFour);
  EXPECT_EQ(winograd_pays(square(256, 256, 14, 3, 1, 1)), WinogradTile::kFour);
  EXPECT_EQ(winograd_pays(square(16, 16, 3, 3, 1, 1)), std::nullopt);
  EXPECT_EQ(winograd_pays(square(64, 64, 56, 3, 2, 1)), std::nullopt);
}

TEST(Winograd, SmallTilesPayWhereTheWeightsOfLargeOnesTakeTooLongToRead) {
  EXPECT_EQ(winograd_pays(square(512, 512, 7, 3, 1, 1)), WinogradTile::kTwo);
}

}  // namespace
}  // namespace sluice::cpu
