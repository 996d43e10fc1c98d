// Indices and positions are data: no kernel leaves its buffers for any value.
#include <gtest/gtest.h>

#include <limits>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

TestTensor floats(Longs dims, const Floats& values) { return {std::move(dims), values}; }
TestTensor longs(const Longs& values) {
  return {{static_cast<std::int64_t>(values.size())}, values};
}

TEST(Gather, TakesNegativeIndicesAndRefusesIndicesOutOfRange) {
  TestTensor y = floats({2}, {0, 0});
  const TestTensor data = floats({3}, {10, 20, 30});
  EXPECT_EQ(TestOp("Gather").run({data, longs({-1, 0})}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{30, 10}));
  EXPECT_EQ(TestOp("Gather").run({data, longs({0, 3})}, y),
            "index 3 is outside axis 0, which has 3");
  EXPECT_EQ(TestOp("Gather").run({data, longs({0, -4})}, y),
            "index -4 is outside axis 0, which has 3");
}

TEST(Gather, EmptyIndicesNeedNoData) {
  TestTensor y = floats({0}, {});
  EXPECT_EQ(TestOp("Gather").run({floats({0}, {}), longs({})}, y), "");
}

TEST(GatherElements, RefusesIndicesOutside) {
  TestTensor y = floats({1, 2}, {0, 0});
  const TestTensor data = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(TestOp("GatherElements").run({data, {{1, 2}, Longs{1, 0}}}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{3, 2}));
  EXPECT_NE(TestOp("GatherElements").run({data, {{1, 2}, Longs{2, 0}}}, y), "");
}

TEST(GatherND, RefusesCoordinatesOutside) {
  TestTensor y = floats({2}, {0, 0});
  const TestTensor data = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(TestOp("GatherND").run({data, {{2, 2}, Longs{1, 1, 0, -1}}}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{4, 2}));
  EXPECT_NE(TestOp("GatherND").run({data, {{2, 2}, Longs{1, 1, 0, 2}}}, y), "");
}

TEST(ScatterElements, CombinesAndRefusesIndicesOutside) {
  TestTensor y = floats({3}, {0, 0, 0});
  const TestTensor data = floats({3}, {1, 2, 3});
  const TestTensor updates = floats({2}, {5, 7});
  EXPECT_EQ(
      TestOp("ScatterElements").with("reduction", "add").run({data, longs({1, 1}), updates}, y),
      "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 14, 3}));
  EXPECT_NE(TestOp("ScatterElements").run({data, longs({1, 3}), updates}, y), "");
  EXPECT_NE(
      TestOp("ScatterElements").with("reduction", "sub").run({data, longs({1, 1}), updates}, y),
      "");
}

TEST(ScatterND, RefusesCoordinatesOutsideAndUpdatesThatDoNotFit) {
  TestTensor y = floats({2, 2}, {0, 0, 0, 0});
  const TestTensor data = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(TestOp("ScatterND").run({data, {{1, 1}, Longs{-1}}, floats({1, 2}, {8, 9})}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 2, 8, 9}));
  EXPECT_NE(TestOp("ScatterND").run({data, {{1, 1}, Longs{2}}, floats({1, 2}, {8, 9})}, y), "");
  EXPECT_NE(TestOp("ScatterND").run({data, {{1, 1}, Longs{0}}, floats({1}, {8})}, y), "");
}

TEST(Slice, ClampsTheFarthestPositionsAndSteps) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const TestTensor data = floats({4}, {1, 2, 3, 4});
  TestTensor reversed = floats({4}, {0, 0, 0, 0});
  EXPECT_EQ(
      TestOp("Slice").run({data, longs({kMax}), longs({kMin}), longs({0}), longs({-1})}, reversed),
      "");
  EXPECT_EQ(reversed.values<float>(), (Floats{4, 3, 2, 1}));
  TestTensor first = floats({1}, {0});
  EXPECT_EQ(
      TestOp("Slice").run({data, longs({kMin}), longs({kMax}), longs({0}), longs({kMax})}, first),
      "");
  EXPECT_EQ(first.values<float>(), Floats{1});
  TestTensor last = floats({1}, {0});
  EXPECT_EQ(
      TestOp("Slice").run({data, longs({kMax}), longs({kMin}), longs({0}), longs({kMin})}, last),
      "");
  EXPECT_EQ(last.values<float>(), Floats{4});
}

TEST(Slice, StartBeforeTheFirstElementIsThatElementEvenBackwards) {
  const TestTensor data = floats({2}, {1, 2});
  TestTensor first = floats({1}, {0});
  EXPECT_EQ(TestOp("Slice").run({data, longs({-3}), longs({-9}), longs({0}), longs({-2})}, first),
            "");
  EXPECT_EQ(first.values<float>(), Floats{1});
  TestTensor none = floats({0}, {});
  EXPECT_EQ(TestOp("Slice").run(
                {floats({0}, {}), longs({-3}), longs({-9}), longs({0}), longs({-1})}, none),
            "");
}

TEST(Slice, RefusesAStepOfZeroAndAxesOutside) {
  const TestTensor data = floats({4}, {1, 2, 3, 4});
  TestTensor y = floats({4}, {0, 0, 0, 0});
  EXPECT_NE(TestOp("Slice").run({data, longs({0}), longs({4}), longs({0}), longs({0})}, y), "");
  EXPECT_NE(TestOp("Slice").run({data, longs({0}), longs({4}), longs({1})}, y), "");
  EXPECT_NE(TestOp("Slice").run({data, longs({0}), longs({3})}, y), "");  // the output has 4
}

TEST(Pad, MirrorsMoreThanOnceAndRefusesToPadFromNothing) {
  TestTensor y = floats({9}, Floats(9));
  EXPECT_EQ(TestOp("Pad").with("mode", "reflect").run({floats({3}, {1, 2, 3}), longs({3, 3})}, y),
            "");
  EXPECT_EQ(y.values<float>(), (Floats{2, 3, 2, 1, 2, 3, 2, 1, 2}));
  TestTensor two = floats({2}, {0, 0});
  EXPECT_NE(TestOp("Pad").with("mode", "edge").run({floats({0}, {}), longs({1, 1})}, two), "");
}

TEST(ReverseSequence, RefusesLengthsOutside) {
  TestTensor y = floats({2, 1}, {0, 0});
  const TestTensor x = floats({2, 1}, {1, 2});
  EXPECT_EQ(TestOp("ReverseSequence").run({x, longs({2})}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{2, 1}));
  EXPECT_NE(TestOp("ReverseSequence").run({x, longs({3})}, y), "");
  EXPECT_NE(TestOp("ReverseSequence").run({x, longs({-1})}, y), "");
}

TEST(TensorScatter, WrapsAroundOnlyIfCircular) {
  TestTensor y = floats({1, 3, 1}, {0, 0, 0});
  const TestTensor cache = floats({1, 3, 1}, {1, 2, 3});
  const TestTensor update = floats({1, 2, 1}, {8, 9});
  EXPECT_NE(TestOp("TensorScatter").run({cache, update, longs({2})}, y), "");
  EXPECT_EQ(TestOp("TensorScatter").with("mode", "circular").run({cache, update, longs({2})}, y),
            "");
  EXPECT_EQ(y.values<float>(), (Floats{9, 2, 8}));
}

TEST(OneHot, IndicesOutOfRangeGiveOffValues) {
  TestTensor y = floats({2, 2}, {9, 9, 9, 9});
  EXPECT_EQ(TestOp("OneHot").run({longs({-1, 7}), longs({2}), floats({2}, {0, 1})}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{0, 1, 0, 0}));
}

}  // namespace
}  // namespace sluice::reference
