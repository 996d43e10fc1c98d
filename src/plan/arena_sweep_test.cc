#include "plan/arena_sweep.h"

#include <gtest/gtest.h>

#include <random>

#include "base/log/work_counts.h"

namespace sluice::plan {
namespace {

constexpr std::int64_t kAlign = 64;

PackRequest request_for(std::span<const Lifetime> lifetimes,
                        std::int64_t max_bytes = std::int64_t{1} << 60) {
  return {lifetimes, kAlign, max_bytes};
}

/// All pieces are alive in the step that reads them.
std::vector<Lifetime> fan_out(std::int32_t count) {
  std::vector<Lifetime> lifetimes;
  for (std::int32_t i = 0; i < count; ++i) lifetimes.push_back({i, count, 64 + i % 7 * 64});
  return lifetimes;
}

std::vector<Lifetime> chain(std::int32_t count) {
  std::vector<Lifetime> lifetimes;
  for (std::int32_t i = 0; i < count; ++i) lifetimes.push_back({i, i + 1, 64 + i % 7 * 64});
  return lifetimes;
}

/// A chain beside pieces that live long.
std::vector<Lifetime> residuals(std::int32_t count) {
  std::vector<Lifetime> lifetimes = chain(count);
  for (std::int32_t i = 0; i + 40 < count; i += 10) lifetimes.push_back({i, i + 40, 4096});
  return lifetimes;
}

TEST(SweepArena, NeverOverlapsTheLiving) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes(80);
    for (Lifetime& lifetime : lifetimes) {
      lifetime.first_step = static_cast<std::int32_t>(random() % 40);
      lifetime.last_step = lifetime.first_step + static_cast<std::int32_t>(random() % 10);
      lifetime.size_bytes = static_cast<std::int64_t>(random() % 5000);
    }
    const auto layout = sweep_arena(request_for(lifetimes));
    ASSERT_TRUE(layout.is_ok());
    const Conflicts by_steps(lifetimes);
    PackRequest by_pairs = request_for(lifetimes);
    by_pairs.conflicts = &by_steps;
    EXPECT_TRUE(check_arena(by_pairs, *layout).is_ok());
    EXPECT_LE(layout->arena_bytes, 2 * arena_lower_bound(lifetimes, kAlign));
  }
}

TEST(SweepArena, UsesWhatAChainGivesBack) {
  const auto lifetimes = chain(1000);
  EXPECT_LE(sweep_arena(request_for(lifetimes))->arena_bytes,
            2 * arena_lower_bound(lifetimes, kAlign));
}

TEST(SweepArena, RefusesAnArenaThatIsTooLarge) {
  const auto lifetimes = fan_out(100);
  EXPECT_EQ(sweep_arena(request_for(lifetimes, 1000)).status().code(), Code::kResourceExhausted);
}

/// The check by sweep and the check of all pairs agree on layouts of which one offset is changed.
TEST(CheckArena, FindsWhatAllPairsFind) {
  std::mt19937 random(4);
  int num_refused = 0;
  for (int round = 0; round < 500; ++round) {
    const auto lifetimes = residuals(60);
    auto layout = *pack_arena(request_for(lifetimes));
    layout.offset_bytes[random() % lifetimes.size()] += (static_cast<int>(random() % 9) - 4) * 64;
    const Conflicts by_steps(lifetimes);
    PackRequest by_pairs = request_for(lifetimes);
    by_pairs.conflicts = &by_steps;
    const bool is_ok = check_arena(by_pairs, layout).is_ok();
    EXPECT_EQ(check_arena(request_for(lifetimes), layout).is_ok(), is_ok);
    num_refused += is_ok ? 0 : 1;
  }
  EXPECT_GT(num_refused, 50);
  EXPECT_LT(num_refused, 450);
}

TEST(CheckArena, RefusesOffsetsOutsideTheArena) {
  const std::vector<Lifetime> one = {{0, 1, 100}};
  EXPECT_FALSE(check_arena(request_for(one), {{-64}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_for(one), {{64}, 128}).is_ok());
  EXPECT_FALSE(check_arena(request_for(one), {{32}, 256}).is_ok());
  EXPECT_TRUE(check_arena(request_for(one), {{0}, 128}).is_ok());
}

/// Ten times the pieces take about ten times the work.
TEST(PackArena, WorkGrowsWithThePieces) {
  for (const auto make : {fan_out, chain, residuals}) {
    const auto visits_of = [&](std::int32_t count) {
      const auto lifetimes = make(count);
      const WorkCounts before = work_counts;
      const auto layout = pack_arena(request_for(lifetimes));
      EXPECT_TRUE(layout.is_ok());
      EXPECT_TRUE(check_arena(request_for(lifetimes), *layout).is_ok());
      return (work_counts - before).visits;
    };
    EXPECT_LT(visits_of(5000), 13 * visits_of(500));
  }
}

}  // namespace
}  // namespace sluice::plan
