#include "generate/logprobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sluice::generate {
namespace {

TEST(Logprobs, AreThoseOfTheSoftmax) {
  // Shares of 1/10, 2/10, 3/10 and 4/10, moved far from zero.
  std::vector<float> logits;
  for (const float share : {1.0F, 4.0F, 2.0F, 3.0F}) logits.push_back(100 + std::log(share));
  const Logprobs found = logprobs_of(logits, 2, 2);
  EXPECT_NEAR(found.chosen, std::log(0.2F), 1e-5);
  ASSERT_EQ(found.top.size(), 2U);
  EXPECT_EQ(found.top[0].token, 1);
  EXPECT_NEAR(found.top[0].logprob, std::log(0.4F), 1e-5);
  EXPECT_EQ(found.top[1].token, 3);
}

TEST(Logprobs, GiveLowerIdsOfEqualTokensFirst) {
  const Logprobs found = logprobs_of(std::vector<float>{1, 1, 1}, 0, 9);
  ASSERT_EQ(found.top.size(), 3U);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(found.top[static_cast<std::size_t>(i)].token, i);
  EXPECT_TRUE(logprobs_of(std::vector<float>{1, 1}, 0, 0).top.empty());
}

TEST(Logprobs, GiveMinusInfinityToAHiddenToken) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const Logprobs found = logprobs_of(std::vector<float>{5, kHidden}, 1, 2);
  EXPECT_EQ(found.chosen, kHidden);
  EXPECT_EQ(found.top[0].logprob, 0);
}

}  // namespace
}  // namespace sluice::generate
