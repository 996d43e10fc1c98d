#include "contention/team_choice.h"

#include <gtest/gtest.h>

namespace sluice::cpu {
namespace {

using Times = std::array<double, 3>;  ///< duration of a run per mode, unit 10 us

constexpr std::int64_t kMs = 1'000'000;

/// A choice, and the time on its clock.
class Choice {
 public:
  /// How many of `runs` used each mode if each takes its time, with pauses between runs.
  std::array<int, 3> count_modes(int runs, const Times& times, std::int64_t pause_ns = 0) {
    std::array<int, 3> counts = {};
    for (int i = 0; i < runs; ++i) {
      const TeamMode mode = choice_.next(now_ns_);
      const auto index = static_cast<std::size_t>(mode);
      now_ns_ += static_cast<std::int64_t>(times[index] * 10e3);
      choice_.note(mode, now_ns_);
      now_ns_ += pause_ns;
      ++counts[index];
    }
    return counts;
  }

  void wait(std::int64_t pause_ns) { now_ns_ += pause_ns; }

 private:
  TeamChoice choice_;
  std::int64_t now_ns_ = 1'000'000'000'000;
};

TEST(TeamChoice, RunsTheFastestModeAndSeldomTriesTheOthers) {
  for (std::size_t best = 0; best < 3; ++best) {
    Times times = {150, 150, 150};
    times[best] = 100;
    Choice choice;
    choice.count_modes(2000, times);
    const auto counts = choice.count_modes(5000, times);
    EXPECT_GT(counts[best], 4950);
    EXPECT_LT(counts[best], 5000);
  }
}

TEST(TeamChoice, TriesMuchSlowerModesInFewerThanOneRunOfAHundred) {
  for (std::size_t best = 0; best < 3; ++best) {
    Times times = {1400, 1300, 1300};
    times[best] = 700;
    Choice choice;
    choice.count_modes(2000, times);
    EXPECT_GT(choice.count_modes(5000, times)[best], 4950);
  }
}

TEST(TeamChoice, LeavesAModeThatBecameSlowAtAnyRun) {
  for (int before = 100; before < 140; ++before) {
    Choice choice;
    choice.count_modes(before, {100, 150, 200});
    const auto counts = choice.count_modes(1000, {300, 150, 200});
    EXPECT_GT(counts[1], 800) << before;
  }
}

TEST(TeamChoice, ReturnsToPinnedWhenContentionEnds) {
  Choice choice;
  choice.count_modes(2000, {200, 150, 100});
  const auto counts = choice.count_modes(6000, {60, 90, 100});
  EXPECT_GT(counts[0], 2000);
}

TEST(TeamChoice, OneLongRunOfEachModeSuffices) {
  Choice choice;
  const Times times = {9000, 8000, 6000};
  choice.count_modes(3, times);
  const auto counts = choice.count_modes(4, times);
  EXPECT_EQ(counts[2], 4);
}

TEST(TeamChoice, RepeatsADisturbedTrialOfLongRuns) {
  Choice choice;
  choice.count_modes(6, {30000, 30000, 20000});
  const auto counts = choice.count_modes(100, {10000, 13000, 20000});
  EXPECT_GT(counts[0], 60);
}

TEST(TeamChoice, PrefersPinnedToAModeThatIsHardlyFaster) {
  Choice choice;
  const auto counts = choice.count_modes(1000, {100, 98, 150});
  EXPECT_GT(counts[0], 950);
}

TEST(TeamChoice, CountsPausesTowardsTheNextTrial) {
  const Times contended = {8000, 6000, 9000};
  const Times alone = {4000, 5000, 8000};
  std::array<int, 2> pinned = {};
  for (const bool pauses : {false, true}) {
    Choice choice;
    choice.count_modes(300, contended);
    pinned[pauses ? 1 : 0] = choice.count_modes(60, alone, pauses ? 120 * kMs : 0)[0];
  }
  EXPECT_LT(pinned[0], 20);
  EXPECT_GT(pinned[1], 35);
}

TEST(TeamChoice, ForgetsMeasurementsAfterALongPause) {
  Choice choice;
  const Times times = {8000, 6000, 4000};
  choice.count_modes(50, times);
  EXPECT_EQ(choice.count_modes(1, times)[2], 1);
  choice.wait(10'000 * kMs);
  EXPECT_EQ(choice.count_modes(1, times)[0], 1);
}

}  // namespace
}  // namespace sluice::cpu
