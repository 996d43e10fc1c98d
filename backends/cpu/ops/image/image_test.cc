#include "testing/agreement.h"
#include "testing/image_testing.h"

namespace sluice::cpu {
namespace {

using testing::expect_like_reference;
using testing::ImageCase;

void nothing(TestOp& /*op*/) {}

std::function<void(TestOp&)> window(Shape kernel, Shape strides, Shape pads, bool counts_pads,
                                    std::int64_t ceil_mode) {
  return [=](TestOp& op) {
    op.attribute("kernel_shape", kernel).attribute("strides", strides).attribute("pads", pads);
    op.attribute("ceil_mode", ceil_mode);
    if (counts_pads) op.attribute("count_include_pad", std::int64_t{1});
  };
}

TEST(CpuPool, WindowsMatchTheReference) {
  for (const char* kind : {"MaxPool", "AveragePool"}) {
    for (const std::int64_t channels : {3, 16, 40}) {
      expect_like_reference({kind,
                             12,
                             {2, channels, 13, 11},
                             {2, channels, 7, 6},
                             window({3, 3}, {2, 2}, {1, 1, 1, 1}, false, 0)},
                            true, true);
      expect_like_reference({kind,
                             12,
                             {1, channels, 8, 9},
                             {1, channels, 7, 8},
                             window({2, 2}, {1, 1}, {0, 0, 0, 0}, false, 0)},
                            true, true);
      expect_like_reference({kind,
                             12,
                             {1, channels, 6, 30},
                             {1, channels, 3, 15},
                             window({3, 5}, {2, 2}, {0, 2, 1, 2}, false, 1)},
                            true, true);
    }
    expect_like_reference({kind, 12, {2, 5, 20}, {2, 5, 10}, window({2}, {2}, {0, 0}, false, 0)},
                          true, true);
  }
}

TEST(CpuPool, RowsOfEveryLengthAgree) {
  for (const char* kind : {"MaxPool", "AveragePool"}) {
    for (const std::int64_t stride : {1, 2, 3, 40}) {
      for (std::int64_t n = 3; n < 72; ++n) {
        const std::int64_t out = (n + 2 - 3) / stride + 1;
        expect_agreement(
            [&](TestOp& op) {
              std::vector<float> x = testing::random_floats(2 * 3 * n, 1);
              x[static_cast<std::size_t>(n) / 2] = NAN;
              op.input({1, 6, n}, x).output({1, 6, out}).attribute("kernel_shape", Shape{3});
              op.attribute("strides", Shape{stride}).attribute("pads", Shape{1, 1});
            },
            {.kind = kind, .version = 19});
      }
    }
  }
}

/// Rows are pooled some at a time, and a maximum looks for NaNs first.
TEST(CpuPool, MaximaKeepWhatIsNoNumberInEveryRow) {
  for (const std::int64_t side : {2, 5}) {
    for (std::size_t at = 0; at < 20 * 37; at += 53) {
      std::vector<float> x(2 * 20 * 37, -std::numeric_limits<float>::infinity());
      const std::vector<float> some = testing::random_floats(20 * 37, 1);
      std::ranges::copy(some, x.begin());
      x[at] = NAN;
      x[20 * 37 + at] = at % 2 == 0 ? 3e38F : INFINITY;
      const std::int64_t before = side / 2;
      const Shape out = {1, 2, 20 + 2 * before - side + 1, 37 + 2 * before - side + 1};
      expect_agreement(
          [&](TestOp& op) {
            op.input({1, 2, 20, 37}, x).output(out).attribute("kernel_shape", Shape{side, side});
            op.attribute("pads", Shape{before, before, before, before});
          },
          {.kind = "MaxPool", .version = 12, .tolerance = 0});
    }
  }
}

template <typename T>
void expect_number_pool(std::int64_t n, const Shape& kernel, const Shape& strides,
                        const Shape& pads) {
  const std::int64_t rows = (9 + pads[0] + pads[2] - kernel[0]) / strides[0] + 1;
  const std::int64_t cols = (n + pads[1] + pads[3] - kernel[1]) / strides[1] + 1;
  std::vector<T> x;
  for (std::int64_t i = 0; i < 6 * 9 * n; ++i) x.push_back(static_cast<T>(i * 37 % 251 - 120));
  if constexpr (std::is_floating_point_v<T>) {
    x[static_cast<std::size_t>(n)] = std::numeric_limits<T>::quiet_NaN();
    x[static_cast<std::size_t>(11 * n)] = std::numeric_limits<T>::infinity();
    for (std::int64_t i = 20 * n; i < 24 * n; ++i) {
      x[static_cast<std::size_t>(i)] = -std::numeric_limits<T>::infinity();
    }
  }
  expect_agreement(
      [&](TestOp& op) {
        op.input<T>({2, 3, 9, n}, x).template output<T>({2, 3, rows, cols});
        op.attribute("kernel_shape", kernel).attribute("strides", strides).attribute("pads", pads);
      },
      {.kind = "MaxPool",
       .version = 12,
       .float_outputs = {},
       .double_outputs = std::is_same_v<T, double> ? std::vector<int>{0} : std::vector<int>{}});
}

template <typename T>
void expect_number_pools() {
  for (std::int64_t n = 3; n < 40; ++n) {
    expect_number_pool<T>(n, {3, 3}, {1, 1}, {1, 1, 1, 1});
    expect_number_pool<T>(n, {2, 3}, {2, 2}, {0, 1, 1, 0});
    expect_number_pool<T>(n, {3, 2}, {1, 3}, {0, 0, 0, 0});
  }
}

TEST(CpuPool, MaximaOfOtherNumbersMatchTheReference) {
  expect_number_pools<std::uint8_t>();
  expect_number_pools<std::int8_t>();
  expect_number_pools<double>();
}

struct PlaneCase {
  Shape image;  ///< rows and columns
  Shape kernel;
  Shape dilations = {1, 1};
  Shape pads = {0, 0, 0, 0};
};

/// Windows one pixel apart, with a NaN and an infinity in the first of three planes, or without.
void expect_planes(const PlaneCase& c, bool has_nan) {
  Shape out = {1, 3};
  for (std::size_t i = 0; i < 2; ++i) {
    out.push_back(c.image[i] + c.pads[i] + c.pads[i + 2] - (c.kernel[i] - 1) * c.dilations[i]);
  }
  const std::int64_t pixels = c.image[0] * c.image[1];
  std::vector<float> x = testing::random_floats(3 * pixels, 1);
  if (has_nan) x[static_cast<std::size_t>(pixels / 2)] = NAN;
  if (has_nan) x[static_cast<std::size_t>(pixels - 1)] = -std::numeric_limits<float>::infinity();
  expect_agreement(
      [&](TestOp& op) {
        op.input({1, 3, c.image[0], c.image[1]}, x).output(out);
        op.attribute("kernel_shape", c.kernel).attribute("dilations", c.dilations);
        op.attribute("pads", c.pads).attribute("ceil_mode", std::int64_t{1});
      },
      {.kind = "MaxPool", .version = 12, .tolerance = 0});
}

TEST(CpuPool, MaximaOfPlanesOfEveryWidthAgree) {
  for (const bool has_nan : {false, true}) {
    for (std::int64_t cols = 3; cols < 50; ++cols) {
      expect_planes({{7, cols}, {3, 3}, {1, 1}, {1, 1, 1, 1}}, has_nan);
      expect_planes({{6, cols}, {2, 3}, {2, 1}, {0, 2, 1, 0}}, has_nan);
      expect_planes({{2, cols}, {1, 2}, {1, 2}, {0, 1, 0, 1}}, has_nan);
    }
    for (std::int64_t rows = 1; rows < 9; ++rows) {
      expect_planes({{rows, 20}, {5, 5}, {1, 1}, {2, 2, 2, 2}}, has_nan);
    }
  }
}

TEST(CpuPool, MaximaOfPlanesInBandsAgree) {
  expect_planes({{90, 70}, {5, 5}, {1, 1}, {2, 2, 2, 2}}, false);
  expect_planes({{90, 70}, {5, 5}, {1, 1}, {2, 2, 2, 2}}, true);
  expect_planes({{33, 600}, {3, 2}, {1, 3}, {1, 0, 1, 3}}, false);
  // Too wide for a band, and windows that reach further down than a band.
  expect_planes({{3, 7000}, {3, 3}, {1, 1}, {1, 1, 1, 1}}, false);
  expect_planes({{70, 90}, {9, 3}, {4, 1}, {0, 1, 0, 1}}, false);
  // Windows that lie in the padding alone.
  for (std::int64_t rows = 1; rows < 9; ++rows) {
    expect_planes({{rows, 4}, {3, 3}, {4, 5}, {4, 5, 5, 5}}, false);
  }
}

TEST(CpuPool, NormsMatchTheReference) {
  for (const std::int64_t p : {1, 2}) {
    const auto norm = [=](TestOp& op) {
      window({3, 3}, {2, 2}, {1, 1, 1, 1}, false, 1)(op);
      op.attribute("p", p);
    };
    expect_like_reference({"LpPool", 18, {2, 19, 12, 11}, {2, 19, 7, 6}, norm}, true, true);
    const auto whole = [=](TestOp& op) { op.attribute("p", p); };
    for (const std::int64_t channels : {3, 32}) {
      const ImageCase c = {"GlobalLpPool", 2, {2, channels, 7, 9}, {2, channels, 1, 1}, whole};
      expect_like_reference(c, true, true);
    }
  }
}

/// Squares of these leave the range of floats, on either side, where their norms do not.
TEST(CpuPool, NormsOfVeryLargeAndSmallNumbersStay) {
  for (const std::int64_t n : {5, 37}) {
    for (const std::int64_t stride : {1, 2, 40}) {
      std::vector<float> x = testing::random_floats(2 * n, 1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 7 == 2) x[i] = 1e30F;
        if (i % 7 > 3) x[i] = 0;
      }
      for (std::size_t i = x.size() / 2; i < x.size(); ++i) x[i] *= 1e-25F;
      x[0] = NAN;
      x[4] = -INFINITY;
      const std::int64_t out = (n - 2) / stride + 1;
      expect_agreement(
          [&](TestOp& op) {
            op.input({1, 2, n}, x).output({1, 2, out}).attribute("kernel_shape", Shape{2});
            op.attribute("strides", Shape{stride});
          },
          {.kind = "LpPool", .version = 18});
    }
  }
  expect_agreement(
      [&](TestOp& op) {
        op.input({1, 2, 3}, {1e30F, 1, 2, 1e-25F, 0, 0}).output({1, 2, 1});
      },
      {.kind = "GlobalLpPool", .version = 2});
}

TEST(CpuPool, AverageCountsPadsOnRequest) {
  for (const std::int64_t ceil_mode : {0, 1}) {
    expect_like_reference({"AveragePool",
                           11,
                           {1, 20, 9, 9},
                           {1, 20, 5, 5},
                           window({3, 3}, {2, 2}, {1, 1, 1, 1}, true, ceil_mode)},
                          true, true);
  }
}

TEST(CpuPool, DilatedWindowsMatchTheReference) {
  const auto details = [](TestOp& op) {
    window({2, 3}, {1, 2}, {1, 1, 0, 2}, false, 0)(op);
    op.attribute("dilations", Shape{3, 2});
  };
  expect_like_reference({"MaxPool", 12, {1, 18, 10, 14}, {1, 18, 8, 7}, details}, true, true);
}

TEST(CpuPool, WholeImagesMatchTheReference) {
  for (const char* kind : {"GlobalMaxPool", "GlobalAveragePool"}) {
    for (const std::int64_t channels : {1, 16, 35}) {
      expect_like_reference({kind, 1, {2, channels, 7, 9}, {2, channels, 1, 1}, nothing}, true,
                            true);
    }
  }
}

TEST(CpuPool, WholeImagesOfFullBlocksGoStraightToRowMajor) {
  const ImageCase c = {"GlobalAveragePool", 1, {2, 32, 5, 5}, {2, 32, 1, 1}, nothing};
  for (const Backend& backend : backends_to_test()) {
    TestOp op(c.kind, "", 1);
    op.blocked_input(c.input, testing::to_blocked(testing::image_values(c), 2, 32, 25));
    op.output(c.output);
    ASSERT_TRUE(op.run(backend, 2).is_ok());
    EXPECT_LE(testing::largest_difference(op.result(), testing::reference_result(c)), 1e-5);
  }
}

TEST(CpuLrn, MatchesTheReference) {
  for (const float beta : {0.75F, 0.5F, 1.0F, 0.6F}) {
    for (const std::int64_t size : {1, 4, 5, 33}) {
      for (const std::int64_t channels : {3, 16, 40}) {
        const auto details = [=](TestOp& op) {
          op.attribute("size", size).attribute("alpha", 0.5F).attribute("beta", beta);
          op.attribute("bias", 1.5F);
        };
        const ImageCase c = {"LRN", 13, {2, channels, 5, 7}, {2, channels, 5, 7}, details};
        expect_like_reference(c, true, true);
        expect_like_reference(c, false, false);
      }
    }
  }
}

TEST(CpuGridSample, MatchesTheReference) {
  std::vector<float> grid = testing::random_floats(2 * 4 * 19 * 2, 8);
  for (float& place : grid) place *= 1.5F;
  grid[0] = NAN;
  grid[1] = 1e30F;
  for (const char* mode : {"linear", "nearest"}) {
    for (const char* padding : {"zeros", "border"}) {
      for (const std::int64_t aligns : {0, 1}) {
        const auto details = [&](TestOp& op) {
          op.input({2, 4, 19, 2}, grid).attribute("mode", mode);
          op.attribute("padding_mode", padding).attribute("align_corners", aligns);
        };
        expect_like_reference({"GridSample", 20, {2, 5, 7, 6}, {2, 5, 4, 19}, details}, true,
                              false);
      }
    }
  }
}

TEST(CpuResize, CubicRowsMatchTheReference) {
  for (const char* coordinates :
       {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    for (const std::int64_t excludes : {0, 1}) {
      for (const Shape& out : {Shape{2, 20, 14, 10}, Shape{2, 20, 3, 4}, Shape{2, 20, 9, 1}}) {
        const auto details = [&](TestOp& op) {
          op.absent_input().absent_input().input<std::int64_t>({4}, out, true);
          op.attribute("mode", "cubic").attribute("coordinate_transformation_mode", coordinates);
          op.attribute("exclude_outside", excludes).attribute("cubic_coeff_a", -0.5F);
        };
        expect_like_reference({"Resize", 19, {2, 20, 7, 5}, out, details}, true, false);
      }
    }
  }
}

TEST(CpuResize, MatchesTheReference) {
  const Shape sizes[] = {{2, 20, 14, 10}, {2, 20, 3, 4}, {2, 20, 9, 1}};
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* coordinates :
         {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
      for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        for (const Shape& out : sizes) {
          const auto details = [&](TestOp& op) {
            op.absent_input().absent_input().input<std::int64_t>({4}, out, true);
            op.attribute("mode", mode).attribute("coordinate_transformation_mode", coordinates);
            op.attribute("nearest_mode", rounding);
          };
          expect_like_reference({"Resize", 19, {2, 20, 7, 5}, out, details}, true, true);
        }
      }
    }
  }
}

TEST(CpuResize, ScalesThatDoNotDivideMatchTheReference) {
  for (const char* mode : {"nearest", "linear"}) {
    const auto details = [&](TestOp& op) {
      op.absent_input().input({4}, std::vector<float>{1, 1, 1.7F, 0.6F}, true);
      op.attribute("mode", mode);
    };
    expect_like_reference({"Resize", 19, {1, 16, 7, 9}, {1, 16, 11, 5}, details}, true, true);
  }
}

void expect_concat_of_blocks(const Shape& channels) {
  std::int64_t total = 0;
  for (const std::int64_t c : channels) total += c;
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 3}) {
      TestOp op("Concat");
      std::vector<float> want;
      std::vector<std::vector<float>> parts;
      for (const std::int64_t c : channels) {
        parts.push_back(testing::random_floats(2 * c * 35, static_cast<unsigned>(c)));
        op.blocked_input({2, c, 5, 7}, testing::to_blocked(parts.back(), 2, c, 35));
      }
      for (std::ptrdiff_t n = 0; n < 2; ++n) {
        for (const auto& part : parts) {
          const auto half = static_cast<std::ptrdiff_t>(part.size() / 2);
          want.insert(want.end(), part.begin() + n * half, part.begin() + (n + 1) * half);
        }
      }
      op.blocked_output({2, total, 5, 7}).attribute("axis", std::int64_t{1});
      ASSERT_TRUE(op.run(backend, workers).is_ok());
      EXPECT_EQ(testing::to_planes(op.result(), 2, total, 35), want);
    }
  }
}

TEST(CpuConcat, JoinsWholeBlocks) { expect_concat_of_blocks({16, 48, 32, 5}); }

TEST(CpuConcat, ShiftsChannelsThatDoNotFillBlocks) { expect_concat_of_blocks({3, 24, 16, 37, 1}); }

TEST(CpuSplit, CutsBetweenBlocks) {
  const auto whole = testing::random_floats(2 * 40 * 6, 1);
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Split", "", 13);
    op.blocked_input({2, 40, 2, 3}, testing::to_blocked(whole, 2, 40, 6));
    op.blocked_output({2, 32, 2, 3})
        .blocked_output({2, 8, 2, 3})
        .attribute("axis", std::int64_t{1});
    ASSERT_TRUE(op.run(backend, 2).is_ok());
    const auto head = testing::to_planes(op.result(0), 2, 32, 6);
    const auto tail = testing::to_planes(op.result(1), 2, 8, 6);
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t i = 0; i < 240; ++i) {
        EXPECT_EQ(i < 192 ? head[n * 192 + i] : tail[n * 48 + i - 192], whole[n * 240 + i]);
      }
    }
  }
}

TEST(CpuReorder, RoundTripKeepsElements) {
  for (const std::int64_t channels : {1, 16, 37}) {
    const Shape dims = {2, channels, 33, 45};
    const auto planes = testing::random_floats(2 * channels * 33 * 45, 3);
    for (const Backend& backend : backends_to_test()) {
      TestOp there("Reorder", "sluice", 1);
      there.input(dims, planes).blocked_output(dims).attribute("layout", "c16");
      ASSERT_TRUE(there.run(backend, 2).is_ok());
      EXPECT_EQ(testing::to_planes(there.result(), 2, channels, 33 * 45), planes);
      TestOp back("Reorder", "sluice", 1);
      back.blocked_input(dims, there.result()).output(dims).attribute("layout", "row_major");
      ASSERT_TRUE(back.run(backend, 3).is_ok());
      EXPECT_EQ(back.result(), planes);
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
