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
    const auto id = sampler.choose(logits, {seen, {}});
    if (id.is_ok()) ++counts[*id];
  }
  return counts;
}

TEST(Sampler, TakesTheFirstOfTheLargestLogitsAtTemperatureZero) {
  Sampler sampler({});
  EXPECT_EQ(sampler.choose(std::vector<float>{1, 3, 2, 3}, {}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{kHidden, -5}, {}).value(), 1);
}

TEST(Sampler, TakesOnlyWhatIsAllowed) {
  std::vector<float> logits(70);
  logits[2] = 9;
  logits[65] = 8;
  const std::vector<std::uint64_t> allowed = {0b11, 0b11};
  EXPECT_EQ(Sampler({}).choose(logits, {}, allowed).value(), 65);
  Sampler sampler({.temperature = 2});
  for (int i = 0; i < 100; ++i) {
    const std::int64_t id = sampler.choose(logits, {}, allowed).value();
    EXPECT_TRUE(id <= 1 || id == 64 || id == 65) << id;
  }
  EXPECT_EQ(Sampler({}).choose(logits, {}, std::vector<std::uint64_t>{1}).value(), 0)
      << "words that are not there allow nothing";
  EXPECT_FALSE(Sampler({}).choose(logits, {}, std::vector<std::uint64_t>{0, 0}).is_ok());
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
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(sampler.choose(std::vector<float>{3, 2}, {Ids{0}, Ids{0}}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{-3, -4}, {Ids{0}, {}}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{-3, -4}, {{}, Ids{0}}).value(), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{3, 2}, {Ids{-1, 99}, {}}).value(), 0);
}

TEST(Sampler, TakesPenaltiesOfTheTextFromLogits) {
  using Ids = std::vector<std::int64_t>;
  const std::vector<float> logits = {3, 2, 0};
  const auto chosen = [&](const Sampling& sampling, const Past& past) {
    Sampler sampler(sampling);
    const std::int64_t first = sampler.choose(logits, past).value();
    EXPECT_EQ(sampler.choose(logits, past).value(), first) << "no count stays behind";
    return first;
  };
  const Ids once = {0}, thrice = {0, 0, 0}, others = {-1, 99};
  // 3 - 0.75 and 3 - 3 * 0.75 against 2; 3 - 1.5, however often.
  EXPECT_EQ(chosen({.frequency_penalty = 0.75F}, {{}, once}), 0);
  EXPECT_EQ(chosen({.frequency_penalty = 0.75F}, {{}, thrice}), 1);
  EXPECT_EQ(chosen({.presence_penalty = 1.5F}, {{}, once}), 1);
  EXPECT_EQ(chosen({.presence_penalty = 0.9F}, {{}, thrice}), 0);
  EXPECT_EQ(chosen({.presence_penalty = 2, .frequency_penalty = 2}, {thrice, {}}), 0)
      << "the prompt does not count";
  EXPECT_EQ(chosen({.presence_penalty = 2}, {{}, others}), 0);
  const Ids both = {1, 0, 1, 1};
  EXPECT_EQ(chosen({.frequency_penalty = -2}, {{}, both}), 1) << "2 + 6 against 3 + 2";
}

TEST(Sampler, AddsBiasesBeforeTheChoice) {
  const std::vector<float> logits = {3, 2, 0};
  EXPECT_EQ(Sampler({.logit_bias = {{2, 100}}}).choose(logits, {}).value(), 2);
  EXPECT_EQ(Sampler({.logit_bias = {{0, -100}, {2, 1}}}).choose(logits, {}).value(), 1);
  EXPECT_EQ(Sampler({.logit_bias = {{2, 100}}})
                .choose(logits, {}, std::vector<std::uint64_t>{0b11})
                .value(),
            0)
      << "a bias brings nothing that a grammar does not allow";
}

TEST(Sampler, KeepsBadWordsOut) {
  using Ids = std::vector<std::int64_t>;
  const std::vector<float> logits = {3, 2, 0};
  Sampler sampler({.bad_words = {{1, 2, 0}, {1}}});
  const Ids begun = {9, 1, 2}, short_text = {2}, prompt = {1, 2};
  EXPECT_EQ(sampler.choose(logits, {}).value(), 0);
  EXPECT_EQ(sampler.choose(logits, {{}, begun}).value(), 2);
  EXPECT_EQ(sampler.choose(logits, {{}, short_text}).value(), 0);
  EXPECT_EQ(sampler.choose(logits, {prompt, {}}).value(), 0) << "it begins in the text";
  const auto none = sampler.choose(logits, {}, std::vector<std::uint64_t>{0b10});
  EXPECT_EQ(none.status().code(), Code::kFailedPrecondition);
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
      {{.presence_penalty = 2.1F}, "presence_penalty"},
      {{.frequency_penalty = -2.1F}, "frequency_penalty"},
      {{.logit_bias = {{1, 101}}}, "logit_bias"},
      {{.logit_bias = std::vector<LogitBias>(1025)}, "logit_bias has 1025 entries"},
      {{.bad_words = {{}}}, "bad_words"},
  };
  for (const auto& [sampling, name] : cases) {
    EXPECT_EQ(sampling.check().message().rfind(name, 0), 0U) << sampling.check().message();
  }
  EXPECT_TRUE(Sampling{}.check().is_ok());
  const Sampling biased = {.logit_bias = {{7, 1}}};
  EXPECT_EQ(biased.check_ids(7).message(), "logit_bias has the id 7; the model has tokens 0 to 6");
  EXPECT_TRUE(biased.check_ids(8).is_ok());
  const Sampling without = {.bad_words = {{1, -1}}};
  EXPECT_EQ(without.check_ids(7).message(), "bad_words has the id -1; the model has tokens 0 to 6");
}

}  // namespace
}  // namespace sluice::generate
