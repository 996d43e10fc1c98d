#include "sluice/tensors/resize.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace sluice::tool {
namespace {

Image grey(int width, int height, std::vector<std::uint8_t> samples) {
  return {width, height, 1, std::move(samples)};
}

TEST(Resize, KeepsImageOfSameSize) {
  const Image image = grey(3, 2, {0, 50, 100, 150, 200, 255});
  EXPECT_EQ(resize(image, 3, 2).samples, image.samples);
}

TEST(Resize, AveragesPixelsThatShrinkTogether) {
  // Halving: weights 1/8, 3/8, 3/8, 1/8 around the centre; at the border those that exist.
  EXPECT_EQ(resize(grey(4, 1, {0, 80, 160, 240}), 2, 1).samples,
            (std::vector<std::uint8_t>{57, 183}));
}

TEST(Resize, InterpolatesPixelsThatGrow) {
  EXPECT_EQ(resize(grey(2, 1, {0, 100}), 4, 1).samples,
            (std::vector<std::uint8_t>{0, 25, 75, 100}));
}

TEST(Resize, KeepsChannelsApart) {
  const Image image = {1, 2, 3, {10, 20, 30, 10, 20, 30}};
  EXPECT_EQ(resize(image, 2, 1).samples, (std::vector<std::uint8_t>{10, 20, 30, 10, 20, 30}));
}

TEST(Resize, ShorterSideKeepsProportion) {
  const auto image = resize_shorter_side(grey(4, 2, std::vector<std::uint8_t>(8)), 3);
  ASSERT_TRUE(image.is_ok());
  EXPECT_EQ(image->width, 6);
  EXPECT_EQ(image->height, 3);
}

TEST(Resize, RefusesHugeResult) {
  const Image line = grey(1 << 20, 1, std::vector<std::uint8_t>(1 << 20));
  EXPECT_FALSE(resize_shorter_side(line, 1000).is_ok());
}

TEST(CropCentre, CutsEqualBorders) {
  const auto image = crop_centre(grey(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 1, 1);
  ASSERT_TRUE(image.is_ok());
  EXPECT_EQ(image->samples, std::vector<std::uint8_t>{5});
}

TEST(CropCentre, RoundsHalvesAsTorchvisionDoes) {
  for (const auto& [width, first] : {std::pair(2, 0), {4, 2}, {6, 2}, {8, 4}}) {
    std::vector<std::uint8_t> samples(static_cast<std::size_t>(width));
    std::iota(samples.begin(), samples.end(), std::uint8_t{0});
    const auto image = crop_centre(grey(width, 1, samples), 1, 1);
    ASSERT_TRUE(image.is_ok());
    EXPECT_EQ(image->samples.front(), first) << width;
  }
}

TEST(CropCentre, RefusesSmallerImage) { EXPECT_FALSE(crop_centre(grey(1, 1, {0}), 2, 1).is_ok()); }

}  // namespace
}  // namespace sluice::tool
