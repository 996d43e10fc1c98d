#include "pool/team_choice.h"

#include <gtest/gtest.h>

namespace sluice::cpu {
namespace {

using Times = std::array<double, 3>;  ///< of a run each way, in units of 10 us

/// How many of `runs` went each way, where each takes its time.
std::array<int, 3> count_modes(TeamChoice& choice, int runs, const Times& times) {
  std::array<int, 3> counts = {};
  for (int i = 0; i < runs; ++i) {
    const TeamMode mode = choice.next();
    const auto index = static_cast<std::size_t>(mode);
    choice.note(mode, times[index] * 10e3);
    ++counts[index];
  }
  return counts;
}

TEST(TeamChoice, TakesWhatIsFastestAndTriesTheOthersSeldom) {
  for (std::size_t best = 0; best < 3; ++best) {
    Times times = {150, 150, 150};
    times[best] = 100;
    TeamChoice choice;
    count_modes(choice, 2000, times);
    const auto counts = count_modes(choice, 5000, times);
    EXPECT_GT(counts[best], 4950);
    EXPECT_LT(counts[best], 5000);
  }
}

TEST(TeamChoice, TrialsOfWhatIsFarSlowerAreRarerThanOneRunOfAHundred) {
  for (std::size_t best = 0; best < 3; ++best) {
    Times times = {1400, 1300, 1300};
    times[best] = 700;
    TeamChoice choice;
    count_modes(choice, 2000, times);
    EXPECT_GT(count_modes(choice, 5000, times)[best], 4950);
  }
}

TEST(TeamChoice, LeavesWhatBecameSlowWhateverRunItIs) {
  for (int before = 100; before < 140; ++before) {
    TeamChoice choice;
    count_modes(choice, before, {100, 150, 200});
    const auto counts = count_modes(choice, 1000, {300, 150, 200});
    EXPECT_GT(counts[1], 800) << before;
  }
}

TEST(TeamChoice, ChangesItsMindWhenTheNeighbourGoes) {
  TeamChoice choice;
  count_modes(choice, 2000, {200, 150, 100});
  const auto counts = count_modes(choice, 6000, {60, 90, 100});
  EXPECT_GT(counts[0], 2000);
}

TEST(TeamChoice, KnowsTheBestOfLongRunsAfterOneOfEach) {
  TeamChoice choice;
  const Times times = {9000, 8000, 6000};
  count_modes(choice, 3, times);
  const auto counts = count_modes(choice, 4, times);
  EXPECT_EQ(counts[2], 4);
}

TEST(TeamChoice, ADisturbedTrialOfLongRunsIsNotBelievedForLong) {
  TeamChoice choice;
  count_modes(choice, 6, {30000, 30000, 20000});
  const auto counts = count_modes(choice, 100, {10000, 13000, 20000});
  EXPECT_GT(counts[0], 60);
}

TEST(TeamChoice, PinnedIsPreferredToWhatIsHardlyFaster) {
  TeamChoice choice;
  const auto counts = count_modes(choice, 1000, {100, 98, 150});
  EXPECT_GT(counts[0], 950);
}

}  // namespace
}  // namespace sluice::cpu
