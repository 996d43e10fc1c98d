// Operators whose fast kernels are plain loops: they agree with the reference kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "plugin/fallback.h"
#include "plugin/registry.h"
#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;

/// Runs the operation by its own kernel, on 1 to 3 workers of every instruction set, and by the
/// reference kernel, and compares output 0, and output 1 as integers if there is one.
void expect_agrees(const std::function<void(TestOp&)>& fill, const char* kind, int version = 18,
                   bool gives_integers = false) {
  TestOp expected(kind, "", version);
  fill(expected);
  std::unique_ptr<Kernel> reference;
  ASSERT_TRUE(make_fallback(expected.op(), &reference).is_ok());
  ASSERT_TRUE(expected.run(*reference, 1).is_ok());
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 2, 3}) {
      TestOp actual(kind, "", version);
      fill(actual);
      std::unique_ptr<Kernel> kernel;
      ASSERT_TRUE(actual.make(backend, &kernel).is_ok());
      ASSERT_FALSE(kernel->is_generic()) << kind;
      ASSERT_TRUE(actual.run(*kernel, workers).is_ok());
      if (gives_integers) {
        ASSERT_EQ(actual.result<std::int64_t>(0), expected.result<std::int64_t>(0)) << kind;
        continue;
      }
      const std::vector<float> got = actual.result();
      const std::vector<float> want = expected.result();
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-5F * (1 + std::fabs(want[i]))) << kind << " at " << i;
      }
      if (actual.op().num_outputs > 1) {
        ASSERT_EQ(actual.result<std::int64_t>(1), expected.result<std::int64_t>(1)) << kind;
      }
    }
  }
}

/// Values of which many are equal.
std::vector<float> steps(std::int64_t count) {
  std::vector<float> values = random_floats(count, 5);
  for (float& value : values) value = std::round(value * 4);
  return values;
}

TEST(CpuAgreement, Pad) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 3, 4}, random_floats(24, 1));
          op.input<std::int64_t>({6}, {0, 1, 2, 1, -1, 3}, true).input({}, {7});
          op.output({3, 3, 9}).attribute("mode", mode);
        },
        "Pad");
  }
}

TEST(CpuAgreement, PadOfOneAndOfFourAxes) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({5}, random_floats(5, 1)).input<std::int64_t>({2}, {3, 4}, true);
          op.output({12}).attribute("mode", mode);
        },
        "Pad");
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 3, 4, 5}, random_floats(120, 1));
          op.input<std::int64_t>({8}, {1, 0, 3, 2, 0, 2, 1, 3}, true).input({}, {7});
          op.output({3, 5, 8, 10}).attribute("mode", mode);
        },
        "Pad");
  }
}

TEST(CpuAgreement, PadOfSomeAxes) {
  expect_agrees(
      [](TestOp& op) {
        op.input({2, 3, 4}, random_floats(24, 1)).input<std::int64_t>({2}, {2, 1}, true);
        op.absent_input().input<std::int64_t>({1}, {-2}, true).output({2, 6, 4});
      },
      "Pad");
}

/// No two axes merge, so planes are small and lie at places of many axes.
TEST(CpuAgreement, TransposeOfFiveAxes) {
  for (const Longs& order : {Longs{4, 3, 2, 1, 0}, Longs{2, 0, 3, 1, 4}, Longs{1, 0, 4, 3, 2}}) {
    const Shape dims = {2, 3, 4, 5, 7};
    Shape out;
    for (const std::int64_t axis : order) out.push_back(dims[static_cast<std::size_t>(axis)]);
    expect_agrees(
        [&](TestOp& op) {
          op.input(dims, random_floats(840, 1)).output(out).attribute("perm", order);
        },
        "Transpose");
  }
}

TEST(CpuAgreement, GatherElementsAndPoints) {
  expect_agrees(
      [](TestOp& op) {
        op.input({3, 4, 2}, random_floats(24, 1));
        op.input<std::int64_t>({2, 5, 2},
                               Longs{0, 1, -1, 3, 2, 2, 1, 0, 0, 0, 3, 3, 1, 2, -4, 0, 0, 1, 2, 3});
        op.output({2, 5, 2}).attribute("axis", std::int64_t{1});
      },
      "GatherElements");
  for (const std::int64_t batch : {0, 1}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 3, 4}, random_floats(24, 1))
              .input<std::int64_t>({2, 5, 1}, Longs{0, 1, -1, 0, 1, 1, 0, 0, -2, 1});
          if (batch == 0) op.output({2, 5, 3, 4});
          if (batch == 1) op.output({2, 5, 4});
          op.attribute("batch_dims", batch);
        },
        "GatherND");
  }
}

TEST(CpuAgreement, ScatterElementsAndPoints) {
  expect_agrees(
      [](TestOp& op) {
        op.input({3, 4}, random_floats(12, 1))
            .input<std::int64_t>({2, 3}, Longs{0, 2, -1, 1, 1, 0});
        op.input({2, 3}, random_floats(6, 2)).output({3, 4}).attribute("axis", std::int64_t{1});
      },
      "ScatterElements");
  expect_agrees(
      [](TestOp& op) {
        op.input({3, 4, 2}, random_floats(24, 1))
            .input<std::int64_t>({3, 2}, Longs{0, 1, -1, 3, 0, 1});
        op.input({3, 2}, random_floats(6, 2)).output({3, 4, 2});
      },
      "ScatterND");
}

TEST(CpuAgreement, IndicesOutsideAreErrors) {
  const Backend backend;
  TestOp op("GatherND", "", 13);
  op.input({2, 3}, random_floats(6, 1)).input<std::int64_t>({1, 1}, Longs{2}).output({1, 3});
  EXPECT_EQ(op.run(backend, 2).code, SLUICE_OUT_OF_RANGE);
}

TEST(CpuAgreement, ExtremesAlongAnAxis) {
  for (const char* kind : {"ArgMax", "ArgMin"}) {
    for (const std::int64_t last : {0, 1}) {
      for (const std::int64_t axis : {0, 1, -1}) {
        const Shape out[] = {{1, 7, 70}, {5, 1, 70}, {5, 7, 1}};
        expect_agrees(
            [&](TestOp& op) {
              op.input({5, 7, 70}, steps(5 * 7 * 70));
              op.output<std::int64_t>(out[static_cast<std::size_t>(axis < 0 ? 2 : axis)]);
              op.attribute("axis", axis)
                  .attribute("keepdims", std::int64_t{1})
                  .attribute("select_last_index", last);
            },
            kind, 13, true);
      }
    }
  }
}

TEST(CpuAgreement, ExtremesOfRowsWithNotANumberAndEqualOnes) {
  std::vector<float> x = steps(6 * 150);
  for (const std::size_t at : {3U, 140U, 300U, 449U, 602U}) x[at] = NAN;
  for (const char* kind : {"ArgMax", "ArgMin"}) {
    for (const std::int64_t last : {0, 1}) {
      expect_agrees(
          [&](TestOp& op) {
            op.input({6, 150}, x).output<std::int64_t>({6});
            op.attribute("axis", std::int64_t{1}).attribute("keepdims", std::int64_t{0});
            op.attribute("select_last_index", last);
          },
          kind, 13, true);
    }
  }
}

TEST(CpuAgreement, FoldsOverScatteredAxes) {
  for (const char* kind : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                           "ReduceL2", "ReduceSumSquare"}) {
    for (const Longs& axes :
         {Longs{0, 2}, Longs{1, 3}, Longs{0, 3}, Longs{0, 2, 4}, Longs{-5, -1}}) {
      Shape out = {3, 4, 5, 6, 7};
      for (const std::int64_t axis : axes) out[static_cast<std::size_t>((axis + 5) % 5)] = 1;
      expect_agrees(
          [&](TestOp& op) {
            op.input({3, 4, 5, 6, 7}, random_floats(3 * 4 * 5 * 6 * 7, 3));
            op.input<std::int64_t>({std::ssize(axes)}, axes, true).output(out);
            op.attribute("keepdims", std::int64_t{1});
          },
          kind, 18);
    }
  }
}

TEST(CpuAgreement, TopK) {
  for (const std::int64_t largest : {0, 1}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 50, 3}, steps(300)).input<std::int64_t>({1}, {7}, true);
          op.output({2, 7, 3}).output<std::int64_t>({2, 7, 3});
          op.attribute("axis", std::int64_t{1}).attribute("largest", largest);
        },
        "TopK", 11);
  }
}

TEST(CpuAgreement, CumSum) {
  for (const std::int64_t flags : {0, 1, 2, 3}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 9, 70}, random_floats(2 * 9 * 70, 1)).input<std::int64_t>({}, {1}, true);
          op.output({2, 9, 70}).attribute("exclusive", flags & 1).attribute("reverse", flags >> 1);
        },
        "CumSum", 14);
  }
}

TEST(CpuAgreement, GroupAndInstanceNormalization) {
  for (const std::int64_t inner : {1, 7, 16, 33}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 12, inner}, random_floats(24 * inner, 1)).input({12}, random_floats(12, 2));
          op.input({12}, random_floats(12, 3))
              .output({2, 12, inner})
              .attribute("num_groups", std::int64_t{3});
        },
        "GroupNormalization", 21);
    expect_agrees(
        [&](TestOp& op) {
          op.input({2, 12, inner}, random_floats(24 * inner, 1)).input({12}, random_floats(12, 2));
          op.input({12}, random_floats(12, 3)).output({2, 12, inner});
        },
        "InstanceNormalization", 6);
  }
  expect_agrees(
      [](TestOp& op) {
        op.input({1, 6, 5}, random_floats(30, 1)).input({2}, {2, 3}).input({2}, {0.5F, -1});
        op.output({1, 6, 5}).attribute("num_groups", std::int64_t{2});
      },
      "GroupNormalization");
}

TEST(CpuAgreement, LogSoftmaxOverAnyAxis) {
  for (const std::int64_t axis : {0, 1, -1}) {
    expect_agrees(
        [&](TestOp& op) {
          op.input({3, 5, 37}, random_floats(3 * 5 * 37, 1))
              .output({3, 5, 37})
              .attribute("axis", axis);
        },
        "LogSoftmax", 13);
  }
}

}  // namespace
}  // namespace sluice::cpu
