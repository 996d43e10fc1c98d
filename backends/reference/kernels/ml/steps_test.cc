// Places of keys, distances of rows, probabilities of classes.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Longs = std::vector<std::int64_t>;
using Floats = std::vector<float>;

std::int64_t length(std::size_t count) { return static_cast<std::int64_t>(count); }

/// The index of each element of `x` in `keys`. `x` is repeated `times` times, so the kernel builds
/// a table.
Longs places(const Floats& x, const Floats& keys, std::size_t times) {
  Floats many;
  for (std::size_t i = 0; i < times; ++i) many.insert(many.end(), x.begin(), x.end());
  TestTensor y({length(many.size())}, Longs(many.size()));
  const TestTensor all({length(many.size())}, many);
  EXPECT_EQ(TestOp("FindKey", "sluice").run({all, TestTensor({length(keys.size())}, keys)}, y), "");
  const Longs found = y.values<std::int64_t>();
  return {found.end() - length(x.size()), found.end()};
}

TEST(FindKey, FindsTheLastOfEqualKeysAtEverySize) {
  for (const std::size_t times : {1, 9}) {
    EXPECT_EQ(places({2, 5, 1}, {1, 2, 1}, times), (Longs{1, 3, 2})) << times;
  }
}

TEST(FindKey, MatchesNanAndTreatsZerosAsEqual) {
  for (const std::size_t times : {1, 9}) {
    EXPECT_EQ(places({NAN, -0.0F, 7}, {0, -NAN, 1}, times), (Longs{1, 0, 3})) << times;
    EXPECT_EQ(places({NAN}, {0}, times), Longs{1}) << times;
  }
}

TEST(FindKey, ComparesTextsByBytes) {
  TestTensor y({3}, Longs(3));
  const TestTensor x({3}, {"b", "", "B"});
  EXPECT_EQ(TestOp("FindKey", "sluice").run({x, TestTensor({2}, {"", "b"})}, y), "");
  EXPECT_EQ(y.values<std::int64_t>(), (Longs{1, 0, 2}));
}

TEST(FindKey, MissingKeyIsNamed) {
  TestTensor y({2}, Longs(2));
  const TestTensor x({2}, {"b", "c"});
  const std::string error =
      TestOp("FindKey", "sluice").with("must_find", 1).run({x, TestTensor({2}, {"", "b"})}, y);
  EXPECT_NE(error.find("\"c\""), std::string::npos) << error;
}

TEST(SquaredDistances, AreExactFarFromTheOrigin) {
  TestTensor y({1, 2}, Floats(2));
  const TestTensor a({1, 2}, Floats{30000, 4});
  const TestTensor b({2, 2}, Floats{30001, 4, 30000, 1});
  EXPECT_EQ(TestOp("SquaredDistances", "sluice").run({a, b}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 9}));
}

Floats coupled(std::int64_t classes, const Floats& pairs) {
  TestTensor y({1, classes}, Floats(static_cast<std::size_t>(classes)));
  const TestTensor x({1, length(pairs.size())}, pairs);
  EXPECT_EQ(TestOp("CouplePairs", "sluice").with("classes", classes).run({x}, y), "");
  return y.values<float>();
}

TEST(CouplePairs, RecoversTheProbabilitiesOfConsistentPairs) {
  const Floats p = {0.5F, 0.3F, 0.2F};
  const Floats found = coupled(3, {0.5F / 0.8F, 0.5F / 0.7F, 0.3F / 0.5F});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], p[i], 0.005) << i;
}

TEST(CouplePairs, SumToOneWhereThePairsContradictEachOther) {
  const Floats found = coupled(3, {1, 0, 1});  // 0 beats 1, 1 beats 2, 2 beats 0
  for (const float p : found) EXPECT_NEAR(p, 1.0 / 3, 1e-6);
}

TEST(CouplePairs, NanPairsGiveNanProbabilities) {
  for (const float p : coupled(2, {NAN})) EXPECT_TRUE(std::isnan(p));
}

}  // namespace
}  // namespace sluice::reference
