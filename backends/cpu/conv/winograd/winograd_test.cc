#include "conv/winograd/winograd.h"

#include <gtest/gtest.h>

#include "testing/naive_conv.h"

namespace sluice::cpu {
namespace {

using testing::ConvCase;
using testing::describe;
using testing::largest_difference;
using testing::square;

constexpr WinogradTile kTiles[] = {WinogradTile::kTwo, WinogradTile::kFour};

std::vector<float> by_winograd(const ConvCase& c, Isa isa, WinogradTile tile, int workers) {
  const WinogradPlan plan = plan_winograd(c.shape, c.epilogue, isa, tile);
  const ConvShape& s = c.shape;
  const Extent out = s.output();
  std::vector<float> packed(static_cast<std::size_t>(winograd_weights_size(s, isa, tile)), NAN);
  pack_winograd(s, isa, tile, c.weights.data(), packed.data());
  const auto bias = testing::padded(c.bias);
  const auto input = testing::to_blocked(c.input, s.batch, s.in_channels, s.input.h * s.input.w);
  auto output = testing::to_blocked(c.residual, s.batch, s.out_channels, out.h * out.w);
  testing::Scratch scratch(plan.scratch_bytes());
  const ConvArgs args = {input.data(), packed.data(), bias.data(), output.data(), output.data()};
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
        for (const int workers : {1, 3}) {
          const auto outputs = by_winograd(c, isa, tile, workers);
          EXPECT_LE(largest_difference(outputs, expected), 1e-6 * (20 + depth))
              << describe(shape) << " " << isa_name(isa) << " tiles of " << pixels_of(tile) << ", "
              << workers << " workers";
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
    const WinogradPlan plan = plan_winograd(s, {}, active_isa(), tile);
    ASSERT_LT(plan.band.w, plan.tiles.w) << pixels_of(tile);
  }
  expect_right(s);
}

TEST(Winograd, SmallImagesShareABand) {
  ConvShape s = square(40, 24, 7, 3, 1, 1);
  s.batch = 11;
  for (const WinogradTile tile : kTiles) {
    const WinogradPlan plan = plan_winograd(s, {}, active_isa(), tile);
    ASSERT_GT(plan.band.h, plan.tiles.h) << pixels_of(tile);
  }
  expect_right(s);
}

TEST(Winograd, ABodyRunsOverTheOutputOnce) {
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
        EXPECT_LE(largest_difference(by_winograd(c, isa, tile, 2), expected), 1e-3)
            << isa_name(isa) << " " << pixels_of(tile);
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
