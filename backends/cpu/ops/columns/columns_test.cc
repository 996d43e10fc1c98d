#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;

std::int64_t count_of(const Shape& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

struct Columns {
  Shape x, w, y;
  Longs strides = {}, dilations = {}, pads = {};
  std::int64_t group = 1;
  const char* auto_pad = "NOTSET";
  bool has_bias = true;
};

void fill(TestOp& op, const Columns& c) {
  op.input(c.x, random_floats(count_of(c.x), 1)).input(c.w, random_floats(count_of(c.w), 2));
  if (c.has_bias) op.input({c.y[1]}, random_floats(c.y[1], 3));
  op.output(c.y).attribute("group", c.group).attribute("auto_pad", c.auto_pad);
  if (!c.strides.empty()) op.attribute("strides", c.strides);
  if (!c.dilations.empty()) op.attribute("dilations", c.dilations);
  if (!c.pads.empty()) op.attribute("pads", c.pads);
}

void expect_conv(const Columns& c, const char* kind = "Conv") {
  expect_agreement([&](TestOp& op) { fill(op, c); }, {.kind = kind, .version = 22});
}

TEST(CpuColumns, ConvolvesWithWeightsOfTheRun) {
  expect_conv({.x = {2, 3, 9}, .w = {4, 3, 3}, .y = {2, 4, 7}});
  expect_conv({.x = {1, 4, 7, 9},
               .w = {6, 2, 3, 3},
               .y = {1, 6, 4, 5},
               .strides = {2, 2},
               .pads = {1, 1, 1, 1},
               .group = 2});
  expect_conv({.x = {2, 5, 6, 7}, .w = {3, 5, 1, 1}, .y = {2, 3, 6, 7}, .has_bias = false});
  expect_conv({.x = {1, 3, 40, 41}, .w = {2, 3, 5, 3}, .y = {1, 2, 32, 37}, .dilations = {2, 2}});
  expect_conv({.x = {1, 4, 8, 9},
               .w = {4, 1, 3, 3},
               .y = {1, 4, 4, 5},
               .strides = {2, 2},
               .group = 4,
               .auto_pad = "SAME_UPPER"});
}

TEST(CpuColumns, ConvolvesVolumes) {
  expect_conv({.x = {2, 3, 5, 6, 7},
               .w = {4, 3, 3, 3, 3},
               .y = {2, 4, 5, 6, 7},
               .pads = {1, 1, 1, 1, 1, 1}});
  expect_conv({.x = {1, 4, 5, 6, 7},
               .w = {4, 2, 3, 1, 2},
               .y = {1, 4, 2, 6, 3},
               .strides = {2, 1, 2},
               .group = 2});
  expect_conv(
      {.x = {1, 2, 3, 4, 5}, .w = {3, 2, 1, 1, 1}, .y = {1, 3, 3, 4, 5}, .has_bias = false});
  // A dilated window that lies in the padding alone at the borders.
  expect_conv({.x = {1, 2, 2, 3, 2},
               .w = {2, 2, 2, 2, 2},
               .y = {1, 2, 5, 6, 5},
               .dilations = {3, 3, 3},
               .pads = {3, 3, 3, 3, 3, 3}});
}

TEST(CpuColumns, SpreadsElements) {
  const char* kind = "ConvTranspose";
  expect_conv({.x = {2, 3, 5}, .w = {3, 4, 4}, .y = {2, 4, 12}, .strides = {2}}, kind);
  expect_conv({.x = {1, 4, 5, 6},
               .w = {4, 3, 3, 3},
               .y = {1, 6, 9, 11},
               .strides = {2, 2},
               .pads = {1, 1, 1, 1},
               .group = 2},
              kind);
  expect_conv({.x = {1, 2, 5, 6},
               .w = {2, 70, 2, 2},
               .y = {1, 70, 10, 12},
               .strides = {2, 2},
               .has_bias = false},
              kind);
  expect_conv({.x = {1, 2, 5, 6}, .w = {2, 3, 2, 3}, .y = {1, 3, 7, 10}, .dilations = {2, 2}},
              kind);
  expect_conv({.x = {1, 3, 50, 41}, .w = {3, 40, 2, 2}, .y = {1, 40, 100, 82}, .strides = {2, 2}},
              kind);
  expect_conv({.x = {2, 3, 4, 21}, .w = {3, 5, 3, 3}, .y = {2, 5, 12, 63}, .strides = {3, 3}},
              kind);
  // Few outputs, which workers share by pieces of the windows or one by one.
  expect_conv({.x = {1, 40, 60, 41}, .w = {40, 1, 2, 2}, .y = {1, 1, 120, 82}, .strides = {2, 2}},
              kind);
  expect_conv({.x = {1, 3, 20, 20},
               .w = {3, 5, 4, 4},
               .y = {1, 5, 40, 40},
               .strides = {2, 2},
               .pads = {1, 1, 1, 1}},
              kind);
  expect_conv({.x = {1, 2, 300}, .w = {2, 60, 2}, .y = {1, 60, 600}, .strides = {2}}, kind);
  expect_conv(
      {.x = {1, 2, 3, 4, 5}, .w = {2, 3, 2, 2, 2}, .y = {1, 3, 6, 8, 10}, .strides = {2, 2, 2}},
      kind);
  expect_conv({.x = {1, 2, 5, 6},
               .w = {2, 3, 3, 3},
               .y = {1, 3, 10, 12},
               .strides = {2, 2},
               .auto_pad = "SAME_LOWER"},
              kind);
}

TEST(CpuColumns, MovesTapsByOffsets) {
  for (const std::int64_t groups : {1, 2}) {
    for (const bool has_mask : {false, true}) {
      expect_agreement(
          [&](TestOp& op) {
            std::vector<float> x = random_floats(2 * 4 * 6 * 7, 1);
            x[0] = std::numeric_limits<float>::infinity();  // which taps outside do not meet
            std::vector<float> offsets = random_floats(2 * 18 * groups * 6 * 7, 2);
            for (float& offset : offsets) offset *= 3;
            op.input({2, 4, 6, 7}, x).input({4, 2, 3, 3}, random_floats(72, 3));
            op.input({2, 18 * groups, 6, 7}, offsets).input({4}, random_floats(4, 4));
            if (has_mask) op.input({2, 9 * groups, 6, 7}, random_floats(2 * 9 * groups * 42, 5));
            op.output({2, 4, 6, 7}).attribute("group", std::int64_t{2});
            op.attribute("offset_group", groups).attribute("pads", Longs{1, 1, 1, 1});
          },
          {.kind = "DeformConv", .version = 19, .tolerance = 3e-5F});
    }
  }
}

TEST(CpuColumns, AddsColumnsToImages) {
  expect_agreement(
      [](TestOp& op) {
        op.input({2, 27, 12}, random_floats(2 * 27 * 12, 1)).input<std::int64_t>({2}, {5, 7}, true);
        op.input<std::int64_t>({2}, {3, 3}, true).output({2, 3, 5, 7});
        op.attribute("strides", Longs{2, 2}).attribute("pads", Longs{1, 1, 1, 1});
      },
      {.kind = "Col2Im", .version = 18});
  expect_agreement(
      [](TestOp& op) {
        op.input({1, 8, 8}, random_floats(64, 1)).input<std::int64_t>({3}, {3, 3, 3}, true);
        op.input<std::int64_t>({3}, {2, 2, 2}, true).output({1, 1, 3, 3, 3});
      },
      {.kind = "Col2Im", .version = 18});
}

/// Odd sizes, steps of one to three, pads and dilations.
TEST(CpuColumns, AddsColumnsOfEveryStep) {
  for (const std::int64_t step : {1, 2, 3}) {
    for (const std::int64_t dilation : {1, 2}) {
      for (const std::int64_t width : {5, 18, 37, 150}) {
        const std::int64_t rows = (9 + 2 - 2 * dilation - 1) / step + 1;
        const std::int64_t columns = (width + 1 - dilation - 1) / step + 1;
        expect_agreement(
            [&](TestOp& op) {
              std::vector<float> x = random_floats(12 * rows * columns, 1);
              x[7] = std::numeric_limits<float>::infinity();
              x[9] = std::numeric_limits<float>::quiet_NaN();
              op.input({1, 12, rows * columns}, x).input<std::int64_t>({2}, {9, width}, true);
              op.input<std::int64_t>({2}, {3, 2}, true).output({1, 2, 9, width});
              op.attribute("strides", Longs{step, step}).attribute("pads", Longs{1, 0, 1, 1});
              op.attribute("dilations", Longs{dilation, dilation});
            },
            {.kind = "Col2Im", .version = 18});
      }
    }
  }
}

TEST(CpuColumns, AddsColumnsOfManyTaps) {
  for (const std::int64_t step : {1, 2}) {
    const std::int64_t rows = (12 - 7) / step + 1;
    expect_agreement(
        [&](TestOp& op) {
          op.input({1, 2 * 63, rows * 13}, random_floats(2 * 63 * rows * 13, 1));
          op.input<std::int64_t>({2}, {12, 21}, true).input<std::int64_t>({2}, {7, 9}, true);
          op.output({1, 2, 12, 21}).attribute("strides", Longs{step, 1});
        },
        {.kind = "Col2Im", .version = 18});
  }
}

TEST(CpuColumns, PoolsVolumes) {
  for (const char* kind : {"MaxPool", "AveragePool", "LpPool"}) {
    for (const std::int64_t counts : {0, 1}) {
      if (counts == 1 && kind[0] != 'A') continue;
      for (const std::int64_t dilation : {1, 2}) {
        expect_agreement(
            [&](TestOp& op) {
              std::vector<float> x = random_floats(2 * 3 * 5 * 6 * 7, 1);
              x[40] = std::numeric_limits<float>::quiet_NaN();
              x[300] = -std::numeric_limits<float>::infinity();
              op.input({2, 3, 5, 6, 7}, x);
              op.output(dilation == 1 ? Shape{2, 3, 3, 3, 4} : Shape{2, 3, 2, 2, 3});
              op.attribute("kernel_shape", Longs{3, 3, 3}).attribute("strides", Longs{2, 2, 2});
              op.attribute("pads", Longs{1, 1, 1, 1, 1, 1});
              op.attribute("dilations", Longs{dilation, dilation, dilation});
              if (kind[0] == 'A') op.attribute("count_include_pad", counts);
            },
            {.kind = kind, .version = 22});
      }
    }
  }
}

TEST(CpuColumns, PoolsVolumesWhole) {
  for (const char* kind : {"GlobalMaxPool", "GlobalAveragePool"}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, 3, 5, 6, 7}, random_floats(1260, 1)).output({2, 3, 1, 1, 1});
        },
        {.kind = kind, .version = 1});
  }
}

}  // namespace
}  // namespace sluice::cpu
