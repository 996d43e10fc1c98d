#include "conv/bytes/byte_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "conv/bytes/byte_depthwise.h"
#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

constexpr std::uint8_t kInputZero = 7;
constexpr std::uint8_t kResidualZero = 100;
constexpr float kResidualScale = 0.25F;
constexpr float kOwnLow = -15, kOwnHigh = 25;
constexpr int kOutputZero = 3;

template <typename T>
std::vector<T> random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(std::numeric_limits<T>::min(),
                                             std::numeric_limits<T>::max());
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(uniform(generator));
  return values;
}

enum class Residual { kNone, kBytes, kFloats };

/// A convolution, its tensors in planes, and its expected result.
struct Case {
  Case(const ConvShape& s, Residual r)
      : shape(s),
        kind(r),
        x(random_bytes<std::uint8_t>(s.batch * s.in_channels * s.input.h * s.input.w, 1)),
        depth(s.in_channels / s.groups * s.kernel.h * s.kernel.w),
        w(random_bytes<std::int8_t>(s.out_channels * depth, 2)),
        residual(
            random_bytes<std::uint8_t>(s.batch * s.out_channels * s.output().h * s.output().w, 3)),
        scales(random_floats(s.out_channels, 4)),
        biases(random_floats(s.out_channels, 5)) {
    // So that results are spread over what bytes hold.
    for (float& scale : scales) scale *= 80 / (std::sqrt(static_cast<float>(depth)) * 70 * 75);
    for (float& bias : biases) bias *= 50;
  }

  double value(std::int64_t n, std::int64_t m, std::int64_t y, std::int64_t col) const {
    const ConvShape& s = shape;
    std::int64_t sum = 0;
    const std::int64_t channels = s.in_channels / s.groups;
    const std::int64_t first = m / (s.out_channels / s.groups) * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < s.kernel.h; ++i) {
        const std::int64_t iy = y * s.stride.h - s.pad_begin.h + i * s.dilation.h;
        if (iy < 0 || iy >= s.input.h) continue;
        for (std::int64_t j = 0; j < s.kernel.w; ++j) {
          const std::int64_t ix = col * s.stride.w - s.pad_begin.w + j * s.dilation.w;
          if (ix < 0 || ix >= s.input.w) continue;
          const auto at = ((n * s.in_channels + first + c) * s.input.h + iy) * s.input.w + ix;
          const auto weight = ((m * channels + c) * s.kernel.h + i) * s.kernel.w + j;
          sum +=
              (x[static_cast<std::size_t>(at)] - kInputZero) * w[static_cast<std::size_t>(weight)];
        }
      }
    }
    const Extent out = s.output();
    const auto at = static_cast<std::size_t>(((n * s.out_channels + m) * out.h + y) * out.w + col);
    const auto channel = static_cast<std::size_t>(m);
    double v = static_cast<double>(sum) * scales[channel] + biases[channel];
    if (kind != Residual::kNone) {
      v = std::clamp<decltype(v)>(v, kOwnLow, kOwnHigh);
      v += kResidualScale * (residual[at] - kResidualZero);
    }
    return v;
  }

  ConvShape shape;
  Residual kind;
  std::vector<std::uint8_t> x;
  std::int64_t depth;  ///< products of a sum
  std::vector<std::int8_t> w;
  std::vector<std::uint8_t> residual;
  std::vector<float> scales, biases;
};

std::size_t in_blocks(std::int64_t n, std::int64_t c, std::int64_t pixel, std::int64_t channels,
                      std::int64_t pixels) {
  return static_cast<std::size_t>(
      ((n * blocks_of(channels) + c / kBlock) * pixels + pixel) * kBlock + c % kBlock);
}

/// Converts planes to c16; padding lanes hold values that a kernel must ignore.
template <typename To, typename From>
std::vector<To> blocked(const std::vector<From>& planes, std::int64_t batch, std::int64_t channels,
                        std::int64_t pixels) {
  std::vector<To> result(static_cast<std::size_t>(batch * blocks_of(channels) * pixels * kBlock),
                         To{99});
  std::size_t from = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        result[in_blocks(n, c, p, channels, pixels)] = static_cast<To>(planes[from++]);
      }
    }
  }
  return result;
}

struct Output {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
};

void run_dense(const Case& c, const ByteConvEpilogue& epilogue, Isa isa, int workers,
               ByteConvArgs args) {
  const ByteConvPacking packing(c.shape, isa);
  std::vector<std::byte> packed(static_cast<std::size_t>(packing.bytes()));
  packing.pack(c.w.data(), packed.data());
  args.weights = packed.data();
  const ByteConvPlan plan = plan_byte_conv(c.shape, epilogue, kInputZero, isa, packed.data());
  for_each_worker(workers, plan.scratch_bytes(),
                  [&](const Worker& worker) { run_byte_conv(plan, args, worker); });
}

void run_by_channel(const Case& c, const ByteConvEpilogue& epilogue, Isa isa, int workers,
                    ByteConvArgs args) {
  ASSERT_EQ(byte_depthwise_refusal(c.shape), nullptr);
  std::vector<float> packed(
      static_cast<std::size_t>(packed_byte_depthwise_bytes(c.shape)) / sizeof(float), NAN);
  pack_byte_depthwise(c.shape, c.w.data(), packed.data());
  args.weights = packed.data();
  const ByteDepthwisePlan plan = plan_byte_depthwise(c.shape, epilogue, kInputZero, isa);
  for_each_worker(workers, 0,
                  [&](const Worker& worker) { run_byte_depthwise(plan, args, worker); });
}

Output run(const Case& c, Isa isa, int workers, bool writes_bytes) {
  const ConvShape& s = c.shape;
  ByteConvEpilogue epilogue = {.scales = c.scales,
                               .biases = c.biases,
                               .low = writes_bytes ? -kOutputZero : -20.0F,
                               .high = writes_bytes ? 255 - kOutputZero : 60.0F,
                               .own_low = kOwnLow,
                               .own_high = kOwnHigh,
                               .residual_scale = kResidualScale,
                               .output_zero = kOutputZero};
  for (float& bias : epilogue.biases) {
    if (c.kind == Residual::kBytes) bias -= kResidualScale * kResidualZero;
  }
  if (c.kind == Residual::kBytes) {
    epilogue.own_low -= kResidualScale * kResidualZero;
    epilogue.own_high -= kResidualScale * kResidualZero;
  }
  const std::int64_t pixels = s.output().h * s.output().w;
  const auto x = s.in_layout == Layout::kPlanes
                     ? c.x
                     : blocked<std::uint8_t>(c.x, s.batch, s.in_channels, s.input.h * s.input.w);
  std::vector<float> shifted(c.residual.begin(), c.residual.end());
  for (float& value : shifted) value -= kResidualZero;
  const auto residual = blocked<std::uint8_t>(c.residual, s.batch, s.out_channels, pixels);
  const auto floats = blocked<float>(shifted, s.batch, s.out_channels, pixels);
  const std::size_t size = residual.size();
  Output out = {std::vector<std::uint8_t>(size), std::vector<float>(size)};
  ByteConvArgs args = {.input = x.data()};
  if (c.kind == Residual::kBytes) args.residual_bytes = residual.data();
  if (c.kind == Residual::kFloats) args.residual_floats = floats.data();
  if (writes_bytes) args.output_bytes = out.bytes.data();
  if (!writes_bytes) args.output_floats = out.floats.data();
  (s.groups > 1 ? run_by_channel : run_dense)(c, epilogue, isa, workers, args);
  return out;
}

/// Every instruction set and 1 to 3 workers give what arithmetic on numbers gives.
void expect_right(const Case& c) {
  const ConvShape& shape = c.shape;
  const Extent out = shape.output();
  const std::int64_t pixels = out.h * out.w;
  for (const Isa isa : isas_to_test()) {
    for (int workers = 1; workers <= 3; ++workers) {
      const Output bytes = run(c, isa, workers, true);
      const Output floats = run(c, isa, workers, false);
      for (std::int64_t n = 0; n < shape.batch; ++n) {
        for (std::int64_t m = 0; m < shape.out_channels; ++m) {
          for (std::int64_t p = 0; p < pixels; ++p) {
            const double v = c.value(n, m, p / out.w, p % out.w);
            const std::size_t at = in_blocks(n, m, p, shape.out_channels, pixels);
            ASSERT_NEAR(bytes.bytes[at], std::clamp(v + kOutputZero, 0.0, 255.0), 0.501)
                << isa_name(isa) << ", " << workers << " workers, channel " << m << " at " << p;
            ASSERT_NEAR(floats.floats[at], std::clamp(v, -20.0, 60.0), 1e-3)
                << isa_name(isa) << ", " << workers << " workers, channel " << m << " at " << p;
          }
        }
      }
    }
  }
}

/// A `largest` above 0 cuts the weights to that magnitude.
void expect_right(const ConvShape& shape, Residual kind = Residual::kNone, int largest = 0) {
  Case c(shape, kind);
  for (std::int8_t& w : c.w) {
    if (largest > 0) w = static_cast<std::int8_t>(w % (largest + 1));
  }
  expect_right(c);
}

ConvShape shape_of(std::int64_t in, std::int64_t out, Extent input, Extent kernel) {
  ConvShape shape;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.input = input;
  shape.kernel = kernel;
  return shape;
}

ConvShape padded(ConvShape shape, Extent stride = {1, 1}) {
  shape.pad_begin = shape.pad_end = {shape.kernel.h / 2, shape.kernel.w / 2};
  shape.stride = stride;
  return shape;
}

TEST(ByteConv, PointwiseIsRight) {
  expect_right(shape_of(16, 16, {3, 5}, {1, 1}));
  expect_right(shape_of(40, 70, {7, 7}, {1, 1}));
  expect_right(padded(shape_of(33, 130, {9, 8}, {1, 1}), {2, 2}));
}

TEST(ByteConv, WindowsAreRightAtTheBorders) {
  expect_right(padded(shape_of(20, 24, {6, 7}, {3, 3})));
  expect_right(padded(shape_of(64, 64, {9, 9}, {3, 3}), {2, 2}));
  expect_right(padded(shape_of(17, 48, {1, 30}, {1, 5})));
  ConvShape dilated = padded(shape_of(16, 16, {9, 9}, {3, 3}));
  dilated.dilation = {2, 2};
  expect_right(dilated);
}

ConvShape by_channel(std::int64_t channels, std::int64_t size, std::int64_t kernel,
                     std::int64_t stride) {
  ConvShape shape =
      padded(shape_of(channels, channels, {size, size + 2}, {kernel, kernel}), {stride, stride});
  shape.groups = channels;
  return shape;
}

TEST(ByteConv, FiltersOfEveryChannelAreRightAtEveryWidth) {
  for (const std::int64_t kernel : {3, 5, 7}) {
    for (const std::int64_t stride : {1, 2}) {
      for (std::int64_t size = 1; size <= 31; size += stride) {
        expect_right(by_channel(24, size, kernel, stride));
      }
    }
  }
}

TEST(ByteConv, UncommonDepthwiseFiltersMatchPlainLoops) {
  ConvShape dilated = by_channel(16, 9, 3, 1);
  dilated.dilation = {2, 3};
  expect_right(dilated);
  ConvShape wide = by_channel(20, 12, 3, 1);
  wide.kernel = {2, 9};
  wide.pad_begin = {1, 8};
  wide.stride = {1, 3};
  wide.batch = 2;
  for (const Residual kind : {Residual::kBytes, Residual::kFloats}) expect_right(wide, kind);
  EXPECT_NE(byte_depthwise_refusal(by_channel(16, 40, 31, 1)), nullptr) << "sums past 24 bits";
}

TEST(ByteConv, NarrowWeightsAreRight) {
  expect_right(padded(shape_of(20, 70, {6, 7}, {3, 3})), Residual::kNone, 64);
  ConvShape planes = padded(shape_of(3, 20, {13, 11}, {5, 3}), {2, 2});
  planes.in_layout = Layout::kPlanes;
  expect_right(planes, Residual::kNone, 64);
}

TEST(ByteConv, NarrowPanelsBesideOthersAreRight) {
  ConvShape planes = padded(shape_of(3, 150, {13, 11}, {5, 3}), {2, 2});
  planes.in_layout = Layout::kPlanes;
  for (const ConvShape& shape : {padded(shape_of(20, 150, {16, 70}, {3, 3})), planes}) {
    Case c(shape, Residual::kNone);
    // Panels have 16 or 64 channels: the first and the last one are narrow.
    for (std::int64_t m = 0; m < shape.out_channels; ++m) {
      for (std::int64_t i = 0; i < c.depth && (m < 64 || m >= 128); ++i) {
        c.w[static_cast<std::size_t>(m * c.depth + i)] %= 65;
      }
    }
    expect_right(c);
  }
}

TEST(ByteConv, LargestProductsDoNotSaturate) {
  for (const int weight : {-128, 127}) {
    Case c(padded(shape_of(36, 20, {7, 6}, {3, 3})), Residual::kNone);
    std::fill(c.x.begin(), c.x.end(), std::uint8_t{255});
    std::fill(c.w.begin(), c.w.end(), static_cast<std::int8_t>(weight));
    for (float& scale : c.scales) scale /= 1000;
    expect_right(c);
  }
}

TEST(ByteConv, FewPlanesAreJoined) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    ConvShape shape = padded(shape_of(channels, 20, {13, 11}, {5, 3}), {2, 2});
    shape.in_layout = Layout::kPlanes;
    shape.batch = 2;
    expect_right(shape);
  }
}

TEST(ByteConv, ResidualsAreAddedAndBatchesCounted) {
  for (const Residual kind : {Residual::kBytes, Residual::kFloats}) {
    ConvShape shape = padded(shape_of(20, 70, {6, 5}, {3, 3}));
    shape.batch = 3;
    expect_right(shape, kind);
  }
}

TEST(ByteConv, ImagesLargerThanABlockOfPixelsAreRight) {
  expect_right(padded(shape_of(16, 8, {40, 45}, {3, 3})));
  ConvShape planes = padded(shape_of(3, 8, {70, 31}, {3, 3}));
  planes.in_layout = Layout::kPlanes;
  expect_right(planes);
}

TEST(ByteConv, RefusesGroupsPlanesAndTooManyChannels) {
  EXPECT_EQ(byte_conv_refusal(padded(shape_of(64, 64, {7, 7}, {3, 3}))), nullptr);
  EXPECT_NE(byte_conv_refusal(shape_of(70000, 16, {2, 2}, {1, 1})), nullptr);
  ConvShape grouped = shape_of(32, 32, {7, 7}, {1, 1});
  grouped.groups = 2;
  EXPECT_NE(byte_conv_refusal(grouped), nullptr);
  ConvShape planes = shape_of(5, 16, {7, 7}, {1, 1});
  planes.in_layout = Layout::kPlanes;
  EXPECT_NE(byte_conv_refusal(planes), nullptr);
}

}  // namespace
}  // namespace sluice::cpu
