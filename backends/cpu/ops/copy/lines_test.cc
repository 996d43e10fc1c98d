#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;

Agreement exactly(const char* kind, int version = 16) {
  return {.kind = kind, .version = version, .float_outputs = {}};
}

TEST(CpuLines, CutsTriangles) {
  for (const std::int64_t upper : {0, 1}) {
    for (const std::int64_t k : {-20, -2, 0, 1, 5, 20}) {
      expect_agreement(
          [&](TestOp& op) {
            op.input({3, 5, 7}, random_floats(105, 1))
                .input<std::int64_t>({}, {k})
                .output({3, 5, 7});
            op.attribute("upper", upper);
          },
          exactly("Trilu"));
    }
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int64_t>({4, 4}, Longs(16, 9)).output<std::int64_t>({4, 4});
          op.attribute("upper", upper);
        },
        exactly("Trilu"));
  }
}

/// Parts of one element or two are columns; the others are rows of bytes.
TEST(CpuLines, JoinsAndSplitsNarrowParts) {
  const auto expect = [](auto zero, const Longs& widths) {
    using T = decltype(zero);
    std::int64_t whole = 0;
    for (const std::int64_t width : widths) whole += width;
    std::vector<T> values;
    for (std::int64_t i = 0; i < 39 * whole; ++i) values.push_back(static_cast<T>(i % 120));
    expect_agreement(
        [&](TestOp& op) {
          for (const std::int64_t width : widths) {
            op.input<T>({3, 13, width}, {values.begin(), values.begin() + 39 * width});
          }
          op.output<T>({3, 13, whole}).attribute("axis", std::int64_t{-1});
        },
        exactly("Concat", 13));
    expect_agreement(
        [&](TestOp& op) {
          op.input<T>({3, 13, whole}, values);
          op.input<std::int64_t>({static_cast<std::int64_t>(widths.size())}, widths, true);
          for (const std::int64_t width : widths) op.output<T>({3, 13, width});
          op.attribute("axis", std::int64_t{2});
        },
        exactly("Split", 13));
  };
  for (const Longs& widths : {Longs{1, 1}, Longs{1, 1, 1}, Longs{2, 1}, Longs{2, 2, 4}, Longs{7}}) {
    expect(std::uint8_t{}, widths);
    expect(float{}, widths);
    expect(std::int64_t{}, widths);
  }
}

TEST(CpuLines, FindsWhatIsNotZero) {
  const auto expect = [](auto one, sluice_element_type type, const Longs& dims, int step) {
    using T = decltype(one);
    std::int64_t size = 1;
    for (const std::int64_t dim : dims) size *= dim;
    std::vector<T> x(static_cast<std::size_t>(size));
    std::int64_t found = 0;
    for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(step), ++found) x[i] = one;
    const auto rank = static_cast<std::int64_t>(std::max<std::size_t>(dims.size(), 1));
    expect_agreement(
        [&](TestOp& op) {
          op.input<T>(dims, x).set_input_type(0, type);
          op.output<std::int64_t>({rank, found});
        },
        exactly("NonZero", 13));
  };
  for (const int step : {1, 3, 7, 1000}) {
    for (const Longs& dims : {Longs{}, Longs{37}, Longs{5, 13}, Longs{3, 4, 5, 2}}) {
      expect(float{-2}, plugin::kF32, dims, step);
      expect(std::numeric_limits<double>::quiet_NaN(), plugin::kF64, dims, step);
      expect(std::uint8_t{1}, plugin::kBool, dims, step);
      expect(std::int64_t{INT64_MIN}, plugin::kI64, dims, step);
    }
  }
  for (const Backend& backend : backends_to_test()) {
    TestOp op("NonZero");
    op.input({6}, {0.0F, -0.0F, NAN, 0, 3, 1e-40F}).output<std::int64_t>({1, 6});
    ASSERT_TRUE(op.run(backend, 1).is_ok());
    std::vector<std::int64_t> got = op.result<std::int64_t>();
    got.resize(3);
    EXPECT_EQ(got, (Longs{2, 4, 5}));
    TestOp small("NonZero");
    small.input({4}, {1, 0, 1, 1}).output<std::int64_t>({1, 2});
    EXPECT_FALSE(small.run(backend, 1).is_ok());
  }
}

TEST(CpuLines, ReversesSequences) {
  for (const std::int64_t time : {0, 1}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({5, 5, 3}, random_floats(75, 1)).input<std::int64_t>({5}, {5, 1, 0, 3, 2});
          op.output({5, 5, 3}).attribute("time_axis", time).attribute("batch_axis", 1 - time);
        },
        exactly("ReverseSequence", 10));
  }
  TestOp op("ReverseSequence", "", 10);
  op.input({2, 1}, {1, 2}).input<std::int64_t>({1}, {3}).output({2, 1});
  EXPECT_FALSE(op.run(Backend(), 1).is_ok());
}

TEST(CpuLines, FillsAndMakesDiagonals) {
  expect_agreement(
      [](TestOp& op) {
        op.input<std::int64_t>({3}, {3, 50, 61}).output({3, 50, 61});
        op.attribute_value<float>("value", {2.5F});
      },
      exactly("ConstantOfShape", 9));
  expect_agreement(
      [](TestOp& op) {
        op.input<std::int64_t>({2}, {3, 5000}).output<std::int64_t>({3, 5000});
        op.attribute_value<std::int64_t>("value", {-7});
      },
      exactly("ConstantOfShape", 9));
  for (const std::int64_t k : {-9, -1, 0, 3, 9}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({4, 6}, random_floats(24, 1)).output({4, 6}).attribute("k", k);
        },
        exactly("EyeLike", 9));
    expect_agreement(
        [&](TestOp& op) {
          op.input({4, 6}, random_floats(24, 1)).output<std::int64_t>({4, 6}).attribute("k", k);
          op.attribute("dtype", std::int64_t{7});
        },
        exactly("EyeLike", 9));
  }
}

TEST(CpuLines, MovesChannelsIntoBlocks) {
  for (const char* mode : {"DCR", "CRD"}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, 27, 4, 5}, random_floats(1080, 1)).output({2, 3, 12, 15});
          op.attribute("blocksize", std::int64_t{3}).attribute("mode", mode);
        },
        exactly("DepthToSpace", 13));
  }
  for (const char* mode : {"DCR", "CRD"}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, 3, 4, 6}, random_floats(144, 1)).output({2, 12, 2, 3});
          op.attribute("blocksize", std::int64_t{2}).attribute("mode", mode);
        },
        exactly("SpaceToDepth", 28));
  }
}

TEST(CpuLines, RepeatsTiles) {
  expect_agreement(
      [](TestOp& op) {
        op.input({2, 3, 5}, random_floats(30, 1)).input<std::int64_t>({3}, {2, 1, 3});
        op.output({4, 3, 15});
      },
      exactly("Tile", 13));
  expect_agreement(
      [](TestOp& op) {
        op.input<std::uint8_t>({4}, {1, 2, 3, 4}).input<std::int64_t>({1}, {0});
        op.output<std::uint8_t>({0});
      },
      exactly("Tile", 13));
}

TEST(CpuLines, RefusesRepeatsThatGiveAnotherShape) {
  for (const std::int64_t repeats : {-1, 0, 3}) {
    TestOp op("Tile", "", 13);
    op.input({2}, {1, 2}).input<std::int64_t>({1}, {repeats}).output({4});
    EXPECT_FALSE(op.run(Backend(), 2).is_ok());
  }
}

TEST(CpuLines, ScattersWithEveryReduction) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      expect_agreement(
          [&](TestOp& op) {
            std::vector<float> updates = random_floats(60, 2);
            updates[7] = std::numeric_limits<float>::quiet_NaN();
            Longs indices;
            for (std::int64_t i = 0; i < 60; ++i) indices.push_back(i % 5 == 4 ? -1 : i % 3);
            op.input({3, 4, 5}, random_floats(60, 1)).input<std::int64_t>({3, 4, 5}, indices);
            op.input({3, 4, 5}, updates).output({3, 4, 5});
            op.attribute("axis", axis).attribute("reduction", reduction);
          },
          {.kind = "ScatterElements", .version = 18});
    }
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int64_t>({4, 3}, Longs(12, 5)).input<std::int64_t>({3, 1}, {0, -1, 0});
          op.input<std::int64_t>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).output<std::int64_t>({4, 3});
          op.attribute("reduction", reduction);
        },
        exactly("ScatterND", 18));
  }
}

/// Workers have parts of the result each, which parts of the updates do not cross.
TEST(CpuLines, ScattersManyPointsByParts) {
  Longs points;
  for (std::int64_t i = 0; i < 900; ++i) points.push_back(i * i % 19 - (i % 2 == 0 ? 19 : 0));
  for (const std::int64_t depth : {1, 2, 3}) {
    const Shape data = {19, 19, 19};
    Shape updates = {900 / depth};
    for (std::size_t d = static_cast<std::size_t>(depth); d < 3; ++d) updates.push_back(19);
    std::int64_t count = 1;
    for (const std::int64_t dim : updates) count *= dim;
    expect_agreement(
        [&](TestOp& op) {
          op.input(data, random_floats(19 * 19 * 19, 1));
          op.input<std::int64_t>({900 / depth, depth}, points);
          op.input(updates, random_floats(count, 2)).output(data);
        },
        exactly("ScatterND", 18));
    expect_agreement(
        [&](TestOp& op) {
          op.input(data, random_floats(19 * 19 * 19, 1));
          op.input<std::int64_t>({900 / depth, depth}, points).output(updates);
        },
        exactly("GatherND", 13));
  }
}

TEST(CpuLines, ScattersAndGathersRefusePointsOutside) {
  const Backend backend;
  for (const std::int64_t outside : {70, -71}) {
    Longs points(500, 69);
    points[321] = outside;
    TestOp scatter("ScatterND", "", 18);
    scatter.input({70}, random_floats(70, 1)).input<std::int64_t>({500, 1}, points);
    scatter.input({500}, random_floats(500, 2)).output({70});
    EXPECT_EQ(scatter.run(backend, 2).code, SLUICE_OUT_OF_RANGE);
    TestOp gather("GatherND", "", 13);
    gather.input({70}, random_floats(70, 1)).input<std::int64_t>({500, 1}, points).output({500});
    EXPECT_EQ(gather.run(backend, 2).code, SLUICE_OUT_OF_RANGE);
  }
}

TEST(CpuLines, GathersElementsOfEveryAxis) {
  for (const std::int64_t axis : {0, 1, 2}) {
    expect_agreement(
        [&](TestOp& op) {
          Longs indices;
          for (std::int64_t i = 0; i < 700; ++i) indices.push_back(i % 7 - 3);
          op.input<double>({7, 10, 10}, std::vector<double>(700, 2.5));
          op.input<std::int64_t>({7, 10, 10}, indices).output<double>({7, 10, 10});
          op.attribute("axis", axis);
        },
        exactly("GatherElements", 13));
  }
}

}  // namespace
}  // namespace sluice::cpu
