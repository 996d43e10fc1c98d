// Pooling with places, resizing, and sampling at places that tensors name.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

/// Random numbers, among them a NaN and infinities.
Floats wild_floats(std::int64_t count, std::uint32_t seed) {
  Floats x = random_floats(count, seed);
  const auto at = [&](std::int64_t part) -> float& {
    return x[static_cast<std::size_t>(count * part / 7)];
  };
  at(1) = NAN;
  at(3) = INFINITY;
  at(5) = -INFINITY;
  return x;
}

std::vector<std::uint8_t> some_bytes(std::int64_t count) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i % 5 == 0 ? 255 : i * 97 % 251));
  }
  return bytes;
}

// ---- MaxPool with places ------------------------------------------------------------------------

TEST(CpuPoolPlaces, AgreeInOneToThreeDimensions) {
  for (const std::int64_t order : {0, 1}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, 3, 9, 7}, wild_floats(2 * 3 * 9 * 7, 1)).output({2, 3, 5, 4});
          op.output<std::int64_t>({2, 3, 5, 4}).attribute("kernel_shape", Shape{3, 2});
          op.attribute("strides", Shape{2, 2}).attribute("pads", Shape{1, 0, 1, 1});
          op.attribute("storage_order", order);
        },
        {.kind = "MaxPool", .version = 12});
    expect_agreement(
        [&](TestOp& op) {
          op.input({1, 2, 4, 5, 6}, random_floats(240, 2)).output({1, 2, 3, 4, 2});
          op.output<std::int64_t>({1, 2, 3, 4, 2}).attribute("kernel_shape", Shape{2, 2, 2});
          op.attribute("dilations", Shape{1, 1, 3}).attribute("strides", Shape{1, 1, 2});
          op.attribute("storage_order", order);
        },
        {.kind = "MaxPool", .version = 12});
  }
  expect_agreement(
      [](TestOp& op) {
        op.input({1, 4, 17}, Floats(68, 1.0F)).output({1, 4, 9});
        op.output<std::int64_t>({1, 4, 9}).attribute("kernel_shape", Shape{3});
        op.attribute("strides", Shape{2}).attribute("pads", Shape{1, 1});
      },
      {.kind = "MaxPool", .version = 12});
}

TEST(CpuPoolPlaces, AgreeOnLongRowsOfWhatIsNoNumber) {
  for (const std::int64_t step : {1, 2, 3}) {
    for (const std::int64_t width : {15, 16, 67}) {
      const std::int64_t out = (width + 2 - 3) / step + 1;
      Floats x = wild_floats(2 * 6 * width, 3);
      for (std::int64_t i = 0; i < 3 * width; ++i) {  // windows of infinities alone
        x[static_cast<std::size_t>(i)] = -std::numeric_limits<float>::infinity();
      }
      expect_agreement(
          [&](TestOp& op) {
            op.input({1, 2, 6, width}, x).output({1, 2, 6, out});
            op.output<std::int64_t>({1, 2, 6, out}).attribute("kernel_shape", Shape{3, 3});
            op.attribute("strides", Shape{1, step}).attribute("pads", Shape{1, 1, 1, 1});
          },
          {.kind = "MaxPool", .version = 12});
    }
  }
}

TEST(CpuVolumePool, SlicesJoinAsRowsDo) {
  for (const char* kind : {"MaxPool", "AveragePool"}) {
    for (const std::int64_t counts : {0, 1}) {
      expect_agreement(
          [&](TestOp& op) {
            op.input({2, 3, 5, 6, 19}, wild_floats(2 * 3 * 5 * 6 * 19, 3));
            op.output({2, 3, 3, 3, 10}).attribute("kernel_shape", Shape{3, 3, 3});
            op.attribute("strides", Shape{2, 2, 2}).attribute("pads", Shape{1, 1, 1, 1, 1, 1});
            if (std::string(kind) == "AveragePool") op.attribute("count_include_pad", counts);
          },
          {.kind = kind, .version = 19});
    }
  }
}

// ---- Resize -------------------------------------------------------------------------------------

struct ResizeCase {
  Shape from, to;
  const char* mode = "linear";
  const char* coordinates = "half_pixel";
  bool is_antialiased = false;
  bool excludes_outside = false;
};

void fill_resize(const ResizeCase& c, TestOp& op) {
  op.absent_input().absent_input().input<std::int64_t>({static_cast<std::int64_t>(c.to.size())},
                                                       c.to, true);
  op.attribute("mode", c.mode).attribute("coordinate_transformation_mode", c.coordinates);
  if (c.is_antialiased) op.attribute("antialias", std::int64_t{1});
  if (c.excludes_outside) op.attribute("exclude_outside", std::int64_t{1});
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

void expect_resize(const ResizeCase& c) {
  expect_agreement(
      [&](TestOp& op) {
        // The reference multiplies neighbours of the nearest by 0, also a NaN.
        const bool is_nearest = std::string(c.mode) == "nearest";
        op.input(c.from, is_nearest ? random_floats(elements(c.from), 4)
                                    : wild_floats(elements(c.from), 4));
        fill_resize(c, op);
        op.output(c.to);
      },
      {.kind = "Resize", .version = 19});
}

void expect_resize_of_bytes(const ResizeCase& c) {
  expect_agreement(
      [&](TestOp& op) {
        op.input(c.from, some_bytes(elements(c.from)));
        fill_resize(c, op);
        op.output<std::uint8_t>(c.to);
      },
      {.kind = "Resize", .version = 19, .float_outputs = {}});
}

TEST(CpuResize, EveryModeGrowsAndShrinks) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "asymmetric",
                                    "align_corners", "half_pixel_symmetric"}) {
      expect_resize({{1, 2, 7, 19}, {1, 2, 14, 38}, mode, coordinates});
      expect_resize({{1, 2, 9, 77}, {1, 2, 4, 20}, mode, coordinates});
      expect_resize({{2, 3, 33}, {2, 3, 50}, mode, coordinates});
      expect_resize({{40}, {17}, mode, coordinates});
    }
  }
}

TEST(CpuResize, AntialiasedFiltersWidenAsAnAxisShrinks) {
  for (const char* mode : {"linear", "cubic"}) {
    for (const bool excludes : {false, true}) {
      expect_resize({{1, 2, 9, 77}, {1, 2, 4, 20}, mode, "half_pixel", true, excludes});
      expect_resize({{1, 1, 6, 40}, {1, 1, 9, 3}, mode, "half_pixel", true, excludes});
    }
  }
}

TEST(CpuResize, InnerAxesStayWhereLastChannelsAre) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    expect_resize({{1, 7, 9, 5}, {1, 14, 4, 5}, mode});
    expect_resize({{2, 3, 4, 5, 18}, {2, 3, 8, 10, 36}, mode});
    expect_resize({{3, 5, 6}, {7, 5, 6}, mode});
  }
}

TEST(CpuResize, BytesAgreeInEveryBit) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    expect_resize_of_bytes({{1, 3, 10, 33}, {1, 3, 15, 22}, mode});
    expect_resize_of_bytes({{1, 3, 9, 8}, {1, 3, 27, 24}, mode});
    expect_resize_of_bytes({{10, 33, 3}, {15, 22, 3}, mode});
  }
  expect_resize_of_bytes({{1, 3, 30, 41}, {1, 3, 10, 13}, "linear", "half_pixel", true});
}

// ---- grids --------------------------------------------------------------------------------------

TEST(CpuGridSample, ManyPointsOfManyChannelsAgree) {
  for (const char* mode : {"linear", "cubic"}) {
    for (const std::int64_t channels : {9, 16, 35}) {
      expect_agreement(
          [&](TestOp& op) {
            Floats x = random_floats(2 * channels * 33 * 37, 5);
            x[7] = NAN;
            x[33 * 37 + 11] = INFINITY;
            Floats places = random_floats(2 * 67 * 71 * 2, 6);
            for (float& place : places) place *= 1.2F;
            op.input({2, channels, 33, 37}, x).input({2, 67, 71, 2}, places);
            op.output({2, channels, 67, 71}).attribute("mode", mode);
          },
          {.kind = "GridSample", .version = 20, .tolerance = 2e-5F});
    }
  }
}

TEST(CpuGridSample, EveryModeOfEveryRankAgrees) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const std::int64_t aligns : {0, 1}) {
        for (const std::int64_t rank : {1, 2, 3}) {
          Shape x = {2, 19}, grid = {2}, y = {2, 19};
          for (std::int64_t d = 0; d < rank; ++d) {
            x.push_back(5 + d);
            grid.push_back(3 + d);
            y.push_back(3 + d);
          }
          grid.push_back(rank);
          Floats places = random_floats(elements(grid), 6);
          for (float& place : places) place *= 2.5F;
          places[0] = NAN;
          places[1] = INFINITY;
          expect_agreement(
              [&](TestOp& op) {
                op.input(x, random_floats(elements(x), 5)).input(grid, places).output(y);
                op.attribute("mode", mode).attribute("padding_mode", padding);
                op.attribute("align_corners", aligns);
              },
              {.kind = "GridSample", .version = 20, .tolerance = 2e-5F});
        }
      }
    }
  }
}

TEST(CpuAffineGrid, AgreesInTwoAndThreeDimensions) {
  for (const std::int64_t aligns : {0, 1}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, 2, 3}, random_floats(12, 7)).input<std::int64_t>({4}, {2, 3, 5, 19}, true);
          op.output({2, 5, 19, 2}).attribute("align_corners", aligns);
        },
        {.kind = "AffineGrid", .version = 20});
    expect_agreement(
        [&](TestOp& op) {
          op.input({1, 3, 4}, random_floats(12, 8))
              .input<std::int64_t>({5}, {1, 3, 2, 1, 17}, true);
          op.output({1, 2, 1, 17, 3}).attribute("align_corners", aligns);
        },
        {.kind = "AffineGrid", .version = 20});
  }
}

// ---- regions ------------------------------------------------------------------------------------

/// Regions inside, across the border, outside, and without extent.
const Floats kRegions = {1, 1, 9, 7, -3, -2, 30, 40, 50, 50, 60, 70, 4, 4, 4, 4, 8, 6, 2, 1};

TEST(CpuRoiAlign, Agrees) {
  for (const std::int64_t ratio : {0, 1, 2, 33}) {
    for (const char* mode : {"half_pixel", "output_half_pixel"}) {
      Floats x = random_floats(2 * 70 * 11 * 13, 9);
      x[100] = NAN;
      x[500] = INFINITY;
      expect_agreement(
          [&](TestOp& op) {
            op.input({2, 70, 11, 13}, x).input({5, 4}, kRegions);
            op.input<std::int64_t>({5}, {0, 1, 1, 0, 1}).output({5, 70, 3, 2});
            op.attribute("output_height", std::int64_t{3});
            op.attribute("output_width", std::int64_t{2}).attribute("sampling_ratio", ratio);
            op.attribute("spatial_scale", 0.8F).attribute("coordinate_transformation_mode", mode);
          },
          {.kind = "RoiAlign", .version = 16, .tolerance = 3e-5F});
    }
  }
}

TEST(CpuMaxRoiPool, Agrees) {
  Floats regions;
  for (std::size_t i = 0; i < kRegions.size(); ++i) {
    if (i % 4 == 0) regions.push_back(static_cast<float>(i / 4 % 2));
    regions.push_back(kRegions[i]);
  }
  expect_agreement(
      [&](TestOp& op) {
        op.input({2, 67, 11, 13}, wild_floats(2 * 67 * 11 * 13, 9)).input({5, 5}, regions);
        op.output({5, 67, 4, 3}).attribute("pooled_shape", Shape{4, 3});
        op.attribute("spatial_scale", 0.8F);
      },
      {.kind = "MaxRoiPool", .version = 1});
}

TEST(CpuRegions, RefuseImagesThatAreNotThere) {
  for (const Backend& backend : backends_to_test()) {
    for (const std::int64_t image : {-1, 2}) {
      TestOp align("RoiAlign", "", 16);
      align.input({2, 1, 4, 4}, Floats(32)).input({1, 4}, {0, 0, 2, 2});
      align.input<std::int64_t>({1}, {image}).output({1, 1, 1, 1});
      EXPECT_FALSE(align.run(backend, 2).is_ok()) << image;
      TestOp pool("MaxRoiPool", "", 1);
      pool.input({2, 1, 4, 4}, Floats(32));
      pool.input({1, 5}, {static_cast<float>(image), 0, 0, 2, 2}).output({1, 1, 1, 1});
      pool.attribute("pooled_shape", Shape{1, 1});
      EXPECT_FALSE(pool.run(backend, 2).is_ok()) << image;
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
