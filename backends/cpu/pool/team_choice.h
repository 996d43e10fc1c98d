#pragma once

#include <array>

namespace sluice::cpu {

/// Whether a list that others hold up runs faster by the team or by its caller alone.
///
/// Both are tried, the better one is taken, and the other tried again now and then, for neighbours
/// come and go. Used by one thread at a time.
class TeamChoice {
 public:
  /// How the next run goes; note() tells how it went.
  bool takes_team() {
    ++runs_;
    if (runs_ <= kTrials) return runs_ % 2 == 0;
    const bool is_team_faster = time_[kTeam] < time_[kAlone];
    return runs_ % kRunsPerTrial == 0 ? !is_team_faster : is_team_faster;
  }

  void note(bool was_team, double nanoseconds) {
    double& time = time_[was_team ? kTeam : kAlone];
    time = time == 0 ? nanoseconds : time + (nanoseconds - time) * kWeightOfLast;
  }

 private:
  enum Way { kAlone, kTeam };
  static constexpr int kTrials = 8;         ///< before there is a choice
  static constexpr int kRunsPerTrial = 16;  ///< of what was not chosen, afterwards
  static constexpr double kWeightOfLast = 0.2;

  unsigned runs_ = 0;
  std::array<double, 2> time_ = {};  ///< averages, the last runs count most
};

}  // namespace sluice::cpu
