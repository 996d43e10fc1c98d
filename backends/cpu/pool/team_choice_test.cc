#include "pool/team_choice.h"

#include <gtest/gtest.h>

namespace sluice::cpu {
namespace {

/// How many of `runs` the team took.
int team_runs(TeamChoice& choice, int runs, double team_ns, double alone_ns) {
  int by_team = 0;
  for (int i = 0; i < runs; ++i) {
    const bool team = choice.takes_team();
    choice.note(team, team ? team_ns : alone_ns);
    by_team += team ? 1 : 0;
  }
  return by_team;
}

TEST(TeamChoice, TakesWhatIsFasterAndTriesTheOtherNowAndThen) {
  TeamChoice faster_team;
  EXPECT_NEAR(team_runs(faster_team, 160, 100, 150), 146, 2);
  TeamChoice faster_alone;
  EXPECT_NEAR(team_runs(faster_alone, 160, 150, 100), 14, 2);
}

TEST(TeamChoice, ChangesItsMindWhenTheNeighbourGoes) {
  TeamChoice choice;
  team_runs(choice, 100, 150, 100);
  EXPECT_GT(team_runs(choice, 400, 60, 100), 300);
}

}  // namespace
}  // namespace sluice::cpu
