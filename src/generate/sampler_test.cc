#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace sluice::generate {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

std::map<std::int64_t, int> draws_of(const Sampling& sampling, const std::vector<float>& logits,
                                     const std::vector<std::int64_t>& seen = {}) {
  Sampler sampler(sampling);
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < 4000; ++i) {
    const auto id = sampler.choose(logits, seen);
    if (id.is_ok()) ++counts[*id];
  }
  return counts;
}

TEST(Sampler, TakesTheFirstOfTheLargestLogitsAtTemperatureZero) {
  Sampler sampler({});
  EXPECT_EQ(sampler.choose(std::vector<float>{1, 3, 2, 3}, {}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{kHidden, -5}, {}).value(), 1);
}

TEST(Sampler, DrawsByTheSharesOfSoftmax) {
  const std::vector<float> logits = {std::log(1.0F), std::log(2.0F), std::log(5.0F), kHidden};
  auto counts = draws_of({.temperature = 1}, logits);
  EXPECT_NEAR(counts[0], 500, 100);
  EXPECT_NEAR(counts[1], 1000, 150);
  EXPECT_NEAR(counts[2], 2500, 200);
  EXPECT_EQ(counts.count(3), 0U);
  // At half the temperature shares are squares: 1, 4 and 25 of 30.
  counts = draws_of({.temperature = 0.5F}, logits);
  EXPECT_NEAR(counts[2], 3333, 200);
}

TEST(Sampler, GivesEqualTokensForEqualSeedsAndOthersForOthers) {
  const std::vector<float> logits(100, 0.0F);
  const auto ids = [&](std::uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<std::int64_t> drawn;
    for (int i = 0; i < 20; ++i) drawn.push_back(sampler.choose(logits, {}).value());
    return drawn;
  };
  EXPECT_EQ(ids(7), ids(7));
  EXPECT_NE(ids(7), ids(8));
}

TEST(Sampler, KeepsTheTokensOfTopKTopPAndMinP) {
  // Shares: 0.5, 0.25, 0.15, 0.1.
  const std::vector<float> logits = {std::log(0.1F), std::log(0.5F), std::log(0.25F),
                                     std::log(0.15F)};
  const struct {
    Sampling sampling;
    std::vector<std::int64_t> kept;
  } cases[] = {
      {{.temperature = 1, .top_k = 2}, {1, 2}},
      {{.temperature = 1, .top_p = 0.6F}, {1, 2}},
      {{.temperature = 1, .top_p = 0.8F}, {1, 2, 3}},
      {{.temperature = 1, .top_p = 0}, {1}},
      {{.temperature = 1, .min_p = 0.4F}, {1, 2}},
      {{.temperature = 1, .top_k = 9, .min_p = 1}, {1}},
  };
  for (const auto& expected : cases) {
    std::vector<std::int64_t> kept;
    for (const auto& [id, count] : draws_of(expected.sampling, logits)) kept.push_back(id);
    EXPECT_EQ(kept, expected.kept);
  }
}

TEST(Sampler, MakesSeenTokensLessLikely) {
  Sampler sampler({.repetition_penalty = 2});
  EXPECT_EQ(sampler.choose(std::vector<float>{3, 2}, std::vector<std::int64_t>{0, 0}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{-3, -4}, std::vector<std::int64_t>{0}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{3, 2}, std::vector<std::int64_t>{-1, 99}).value(), 0);
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  Sampler sampler({.temperature = 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& logits :
       {std::vector<float>{1, nan}, std::vector<float>{kHidden, kHidden}, std::vector<float>{},
        std::vector<float>{-kHidden, 0}}) {
    EXPECT_EQ(sampler.choose(logits, {}).status().code(), Code::kDataLoss);
  }
}

TEST(Sampling, NamesTheSettingThatIsOutOfRange) {
  const std::pair<Sampling, const char*> cases[] = {
      {{.temperature = -1}, "temperature"},
      {{.temperature = std::numeric_limits<float>::quiet_NaN()}, "temperature"},
      {{.top_k = -1}, "top_k"},
      {{.top_p = 1.5F}, "top_p"},
      {{.min_p = -0.1F}, "min_p"},
      {{.repetition_penalty = 0}, "repetition_penalty"},
  };
  for (const auto& [sampling, name] : cases) {
    EXPECT_EQ(sampling.check().message().rfind(name, 0), 0U) << sampling.check().message();
  }
  EXPECT_TRUE(Sampling{}.check().is_ok());
}

}  // namespace
}  // namespace sluice::generate
