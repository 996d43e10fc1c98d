#include "plan/arena_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice::plan {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

PackRequest request_of(std::span<const Lifetime> lifetimes, std::int64_t max_bytes = kNoLimit) {
  return {lifetimes, kAlignment, max_bytes};
}

std::vector<Lifetime> random_lifetimes(std::mt19937& random) {
  std::vector<Lifetime> lifetimes(60);
  for (Lifetime& lifetime : lifetimes) {
    lifetime.first_step = static_cast<std::int32_t>(random() % 40);
    lifetime.last_step = lifetime.first_step + static_cast<std::int32_t>(random() % 10);
    lifetime.size_bytes = static_cast<std::int64_t>(random() % 5000);
  }
  return lifetimes;
}

TEST(PackArena, ReusesMemoryOfTheDead) {
  const std::vector<Lifetime> chain = {{0, 1, 1000}, {1, 2, 1000}, {2, 3, 1000}, {3, 4, 1000}};
  const auto layout = pack_arena(request_of(chain));
  ASSERT_TRUE(layout.is_ok());
  EXPECT_EQ(layout->arena_bytes, 2048);
}

TEST(PackArena, NoPackerOverlapsTheLiving) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const auto lifetimes = random_lifetimes(random);
    const std::int64_t bound = arena_lower_bound(lifetimes, kAlignment);
    for (const Packer packer : {Packer::kBump, Packer::kBestFit, Packer::kFirstFit,
                                Packer::kColouring, Packer::kLongestFirst}) {
      const auto layout = pack_arena(request_of(lifetimes), packer);
      ASSERT_TRUE(layout.is_ok()) << static_cast<int>(packer);
      EXPECT_TRUE(check_arena(request_of(lifetimes), *layout).is_ok()) << static_cast<int>(packer);
      EXPECT_GE(layout->arena_bytes, bound) << static_cast<int>(packer);
    }
  }
}

TEST(PackArena, KeepsTheSmallestOfAllPackers) {
  std::mt19937 random(8);
  for (int round = 0; round < 20; ++round) {
    const auto lifetimes = random_lifetimes(random);
    const auto best = pack_arena(request_of(lifetimes));
    ASSERT_TRUE(best.is_ok());
    const std::int64_t bound = arena_lower_bound(lifetimes, kAlignment);
    if (best->arena_bytes - bound <= bound / 50) continue;
    for (const Packer packer : kReusingPackers) {
      EXPECT_LE(best->arena_bytes, pack_arena(request_of(lifetimes), packer)->arena_bytes);
    }
  }
}

/// Layers as in DenseNet: each result is kept beside a growing one.
TEST(PackArena, GrowingConcatenationsReachTheLowerBound) {
  std::vector<Lifetime> lifetimes;
  std::int32_t born = 0;
  for (std::int32_t layer = 0, step = 1; layer < 24; ++layer, step += 3) {
    const std::int64_t channels = 64 + 32 * layer;
    lifetimes.push_back({step, step + 1, channels * 1024});
    lifetimes.push_back({step + 1, step + 2, std::int64_t{128} * 1024});
    lifetimes.push_back({step + 2, step + 3, std::int64_t{32} * 1024});
    lifetimes.push_back({born, step + 3, channels * 1024});
    born = step + 3;
  }
  const std::int64_t bound = arena_lower_bound(lifetimes, kAlignment);
  EXPECT_LE(pack_arena(request_of(lifetimes))->arena_bytes, bound + bound / 20);
}

TEST(PackArena, BumpReusesNothing) {
  const std::vector<Lifetime> chain = {{0, 1, 64}, {1, 2, 64}, {2, 3, 64}};
  EXPECT_EQ(pack_arena(request_of(chain), Packer::kBump)->arena_bytes, 192);
  EXPECT_EQ(arena_lower_bound(chain, kAlignment), 128);
}

TEST(PackArena, PiecesOfTasksSideBySideNeverOverlap) {
  // The lifetimes of the two pieces do not meet, but their tasks may run at the same time.
  const std::vector<Lifetime> pieces = {{0, 1, 64}, {2, 3, 64}};
  const std::vector<std::vector<Touch>> touches = {{{0, 0}, {0, 1}}, {{1, 2}, {1, 3}}};
  const std::vector<Task> apart = {{0, {}, 0}, {1, {}, 0}};
  const std::vector<Task> in_order = {{0, {}, 0}, {1, {0}, 0}};
  for (const auto* tasks : {&apart, &in_order}) {
    const Conflicts conflicts(pieces, touches, TaskOrder(*tasks));
    PackRequest request = request_of(pieces);
    request.conflicts = &conflicts;
    EXPECT_EQ(pack_arena(request)->arena_bytes, tasks == &apart ? 128 : 64);
    EXPECT_EQ(check_arena(request, {{0, 0}, 64}).is_ok(), tasks == &in_order);
  }
}

TEST(PackArena, RejectsReversedLifetime) {
  const std::vector<Lifetime> reversed = {{3, 2, 10}};
  EXPECT_EQ(pack_arena(request_of(reversed)).status().code(), Code::kInvalidArgument);
}

TEST(PackArena, RefusesToPassTheLimit) {
  const std::vector<Lifetime> together = {{0, 1, 600}, {0, 1, 600}};
  EXPECT_EQ(pack_arena(request_of(together, 1000)).status().code(), Code::kResourceExhausted);
}

TEST(PackArena, SizesPast64BitsAreAnError) {
  const std::vector<Lifetime> huge(3, Lifetime{0, 1, std::int64_t{1} << 62});
  EXPECT_EQ(pack_arena(request_of(huge)).status().code(), Code::kResourceExhausted);
}

TEST(CheckArena, FindsOverlapMisalignmentAndEscape) {
  const std::vector<Lifetime> two = {{0, 1, 64}, {1, 2, 64}};
  EXPECT_TRUE(check_arena(request_of(two), {{0, 64}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_of(two), {{0, 0}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_of(two), {{0, 32}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_of(two), {{0, 128}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_of(two), {{-64, 64}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_of(two), {{0}, 128}).is_ok());
}

}  // namespace
}  // namespace sluice::plan
