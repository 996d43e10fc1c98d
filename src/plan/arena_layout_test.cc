#include "plan/arena_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice::plan {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

TEST(PackArena, ReusesMemoryOfTheDead) {
  const std::vector<Lifetime> chain = {{0, 1, 1000}, {1, 2, 1000}, {2, 3, 1000}, {3, 4, 1000}};
  const auto layout = pack_arena(chain, kAlignment, kNoLimit);
  ASSERT_TRUE(layout.is_ok());
  EXPECT_EQ(layout->arena_bytes, 2048);
}

TEST(PackArena, NeverOverlapsTheLiving) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes(60);
    for (Lifetime& lifetime : lifetimes) {
      lifetime.first_step = static_cast<std::int32_t>(random() % 40);
      lifetime.last_step = lifetime.first_step + static_cast<std::int32_t>(random() % 10);
      lifetime.size_bytes = static_cast<std::int64_t>(random() % 5000);
    }
    const auto layout = pack_arena(lifetimes, kAlignment, kNoLimit);
    ASSERT_TRUE(layout.is_ok());
    EXPECT_TRUE(check_arena(lifetimes, *layout, kAlignment).is_ok());
  }
}

TEST(PackArena, RejectsReversedLifetime) {
  const std::vector<Lifetime> reversed = {{3, 2, 10}};
  EXPECT_EQ(pack_arena(reversed, kAlignment, kNoLimit).status().code(), Code::kInvalidArgument);
}

TEST(PackArena, RefusesToPassTheLimit) {
  const std::vector<Lifetime> together = {{0, 1, 600}, {0, 1, 600}};
  EXPECT_EQ(pack_arena(together, kAlignment, 1000).status().code(), Code::kResourceExhausted);
}

TEST(PackArena, SizesPast64BitsAreAnError) {
  const std::vector<Lifetime> huge(3, Lifetime{0, 1, std::int64_t{1} << 62});
  EXPECT_EQ(pack_arena(huge, kAlignment, kNoLimit).status().code(), Code::kResourceExhausted);
}

TEST(CheckArena, FindsOverlapMisalignmentAndEscape) {
  const std::vector<Lifetime> two = {{0, 1, 64}, {1, 2, 64}};
  EXPECT_TRUE(check_arena(two, {{0, 64}, 128}, kAlignment).is_ok());
  EXPECT_FALSE(check_arena(two, {{0, 0}, 128}, kAlignment).is_ok());
  EXPECT_FALSE(check_arena(two, {{0, 32}, 128}, kAlignment).is_ok());
  EXPECT_FALSE(check_arena(two, {{0, 128}, 128}, kAlignment).is_ok());
  EXPECT_FALSE(check_arena(two, {{-64, 64}, 128}, kAlignment).is_ok());
  EXPECT_FALSE(check_arena(two, {{0}, 128}, kAlignment).is_ok());
}

}  // namespace
}  // namespace sluice::plan
