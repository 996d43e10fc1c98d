// Kernels of convolutions on emulated devices, against sums in double.

#include <gtest/gtest.h>

#include <algorithm>

#include "plugin/generate/tiles/convolution.h"
#include "plugin/generate/tiles/tile_kernel.h"
#include "plugin/libraries/testing/emulated_device.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using testing::Shape;
using testing::TestOp;

/// A convolution over any number of axes; pads are those at the beginning, and the end's.
struct Window {
  std::int64_t images, channels, groups, rows;  // rows: channels of the output
  Shape image, kernel, strides, dilations, pads;
  sluice_element_type type = plugin::kF32;
  bool has_bias = true;
  bool has_residual = false;
  int capability = 80;
  Confine confine = Confine::kNothing;

  Shape output() const {
    Shape dims;
    for (std::size_t i = 0; i < image.size(); ++i) {
      dims.push_back((image[i] + 2 * pads[i] - dilations[i] * (kernel[i] - 1) - 1) / strides[i] +
                     1);
    }
    return dims;
  }
};

Shape with_channels(std::int64_t first, std::int64_t second, const Shape& rest) {
  Shape dims = {first, second};
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

void describe(const Window& c, TestOp& op) {
  op.input(with_channels(c.images, c.channels, c.image));
  op.input(with_channels(c.rows, c.channels / c.groups, c.kernel));
  if (c.has_bias) op.input({c.rows});
  const Shape y = with_channels(c.images, c.rows, c.output());
  op.output(y);
  if (c.has_residual) op.body_input(y).step("Add", {0, 1}).step("Relu", {2});
  Shape pads = c.pads;
  pads.insert(pads.end(), c.pads.begin(), c.pads.end());
  op.set_int("group", c.groups);
  op.set("strides", c.strides).set("dilations", c.dilations).set("pads", pads);
}

/// Splits an index of a row-major tensor.
Shape place_of(std::int64_t index, const Shape& dims) {
  Shape place(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; index /= dims[i]) place[i] = index % dims[i];
  return place;
}

/// The sum over one channel's window.
double sum_window(const Window& c, const Shape& pixel, const float* image, const float* weights) {
  double sum = 0;
  for (std::int64_t tap = 0; tap < plugin::num_elements(c.kernel); ++tap) {
    const Shape k = place_of(tap, c.kernel);
    std::int64_t at = 0;
    bool is_inside = true;
    for (std::size_t i = 0; i < k.size(); ++i) {
      const std::int64_t p = pixel[i] * c.strides[i] - c.pads[i] + k[i] * c.dilations[i];
      is_inside = is_inside && p >= 0 && p < c.image[i];
      at = at * c.image[i] + p;
    }
    if (is_inside) sum += double{image[at]} * weights[tap];
  }
  return sum;
}

std::vector<double> expected_of(const Window& c, const std::vector<std::vector<float>>& inputs) {
  const Shape output = c.output();
  const std::int64_t pixels = plugin::num_elements(output);
  const std::int64_t own = c.channels / c.groups;
  const std::int64_t plane = plugin::num_elements(c.image);
  const std::int64_t taps = plugin::num_elements(c.kernel);
  std::vector<double> y;
  for (std::int64_t i = 0; i < c.images * c.rows * pixels; ++i) {
    const std::int64_t row = i / pixels % c.rows;
    const std::int64_t first = row / (c.rows / c.groups) * own;
    double sum = c.has_bias ? double{inputs[2][static_cast<std::size_t>(row)]} : 0;
    for (std::int64_t channel = 0; channel < own; ++channel) {
      const std::int64_t image = i / pixels / c.rows * c.channels + first + channel;
      sum += sum_window(c, place_of(i % pixels, output),
                        &inputs[0][static_cast<std::size_t>(image * plane)],
                        &inputs[1][static_cast<std::size_t>((row * own + channel) * taps)]);
    }
    if (c.has_residual) sum = std::max(sum + inputs.back()[static_cast<std::size_t>(i)], 0.0);
    y.push_back(sum);
  }
  return y;
}

void check_window(const Window& c) {
  SCOPED_TRACE(std::to_string(c.images) + " images, " + std::to_string(c.channels) +
               " channels to " + std::to_string(c.rows) + ", kernel " +
               plugin::to_string(c.kernel) + ", type " + std::to_string(c.type) + ", sm_" +
               std::to_string(c.capability));
  const testing::EmulatedDevice device(c.capability, c.confine);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  TestOp op("Conv", c.type);
  describe(c, op);
  const std::vector<std::vector<float>> inputs = testing::some_inputs(op.get());
  const std::int64_t count = c.channels / c.groups * plugin::num_elements(c.kernel);
  testing::expect_close(testing::run_op(*device.backend, *device.group, op.get(), inputs),
                        expected_of(c, inputs), testing::tolerance_of_sum(c.type, count));
}

TEST(Convolutions, WindowsWithPaddingStridesAndDilationsAreGathered) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_window({2, 5, 1, 12, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, type});
    check_window({1, 3, 1, 17, {13, 11}, {5, 3}, {2, 1}, {1, 2}, {2, 2}, type});
    check_window({1, 8, 1, 16, {8, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, type, false});
  }
}

TEST(Convolutions, PointwiseOnesReadImagesInPlace) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_window({1, 24, 1, 20, {4, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, type});
    check_window({3, 16, 1, 9, {4, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, type});
    check_window({3, 10, 1, 9, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, type});
    check_window({2, 8, 1, 1, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, type});
  }
}

TEST(Convolutions, GroupsAreAStackUnlessTheyAreSmall) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_window({2, 12, 2, 20, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, type});
    check_window({1, 16, 2, 16, {4, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, type});
    check_window({2, 6, 6, 6, {7, 5}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, type});
  }
}

TEST(Convolutions, LinesAndVolumesHaveWindowsToo) {
  check_window({2, 6, 1, 10, {33}, {4}, {3}, {2}, {3}});
  check_window({1, 3, 1, 9, {4, 5, 6}, {2, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 0}, plugin::kF16});
}

TEST(Convolutions, WindowsOfManyTapsAreComputedByElements) {
  check_window({1, 2, 1, 3, {12, 12}, {9, 9}, {1, 1}, {1, 1}, {4, 4}});
  check_window({1, 2, 1, 9, {12, 12}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, plugin::kF16});
}

TEST(Convolutions, BodiesFollowInBothForms) {
  for (const Confine confine : {Confine::kNothing, Confine::kMasks}) {
    for (const sluice_element_type type : testing::kFloatTypes) {
      check_window(
          {2, 8, 1, 12, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, type, true, true, 80, confine});
      check_window(
          {2, 8, 1, 12, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, type, true, true, 75, confine});
    }
  }
}

/// A kernel with a tile that the sizes of a test would not choose.
void check_tile(const Window& c, const Tile& tile) {
  SCOPED_TRACE("tile " + std::to_string(tile.m) + " x " + std::to_string(tile.n));
  const testing::EmulatedDevice device(c.capability);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  TestOp op("Conv", c.type);
  describe(c, op);
  const std::vector<std::vector<float>> inputs = testing::some_inputs(op.get());
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < c.image.size(); ++i) {
    axes.push_back(
        {c.image[i], c.output()[i], c.kernel[i], c.strides[i], c.dilations[i], c.pads[i]});
  }
  Product product;
  Finish finish;
  ASSERT_TRUE(convolution_product(op.get(), axes, &product, &finish));
  Source source;
  ASSERT_EQ(write_tiles(op.get(), product, finish, tile, &source).text, "");
  testing::expect_close(
      testing::run_source(*device.backend, *device.group, op.get(), source, inputs),
      expected_of(c, inputs), testing::tolerance_of_sum(c.type, product.k));
}

TEST(Convolutions, LargeTilesGatherTheSame) {
  Window window = {2, 5, 1, 70, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  for (const Tile& tile : float_tiles()) check_tile(window, tile);
  window.type = plugin::kF16;
  for (const Tile& tile : half_tiles()) check_tile(window, tile);
}

}  // namespace
}  // namespace sluice::cuda
