#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::cpu {

/// How a pool runs a task.
enum class TeamMode : std::uint8_t {
  kPinned,  ///< by all, each on a processor of its own
  kLoose,   ///< by all, on whatever processors of the pool are free
  kAlone,   ///< by the caller
};

/// Which way a list that others hold up runs fastest.
///
/// All are tried, the best is taken, and the others are tried again now and then, for neighbours
/// come and go: seldom, where trials only confirm the choice. A trial is a few runs in a row, for
/// the kernel needs a while to move threads to where there is room. Used by one thread at a time.
class TeamChoice {
 public:
  /// How the next run goes; note() tells how it went.
  TeamMode next() {
    if (first_runs_ < kTrialRuns * kModes) return static_cast<TeamMode>(first_runs_++ / kTrialRuns);
    if (++runs_ < interval_) return best_;
    if (runs_ == interval_) other_ = other_ % (kModes - 1) + 1;
    return static_cast<TeamMode>((index(best_) + other_) % kModes);
  }

  void note(TeamMode mode, double nanoseconds) {
    double& time = time_[index(mode)];
    const double weight = mode == best_ ? kWeightOfLast : kWeightOfTrial;
    time = time == 0 ? nanoseconds : time + (nanoseconds - time) * weight;
    if (first_runs_ < kTrialRuns * kModes) return;
    const bool ends_trial = runs_ + 1 == interval_ + kTrialRuns;
    if (runs_ >= interval_ && !ends_trial) return;  // in the midst of one
    const auto least = std::min_element(time_.begin(), time_.end()) - time_.begin();
    const auto best = static_cast<TeamMode>(least);
    if (best != best_ || ends_trial) runs_ = 0;
    if (best != best_) {
      interval_ = kFewestRuns;
    } else if (ends_trial) {
      interval_ = std::min(interval_ * 2, kMostRuns);
    }
    best_ = best;
  }

 private:
  static constexpr std::size_t kModes = 3;
  static constexpr unsigned kTrialRuns = 4;
  static constexpr unsigned kFewestRuns = 16;  ///< between trials
  static constexpr unsigned kMostRuns = 512;
  static constexpr double kWeightOfLast = 0.2;
  static constexpr double kWeightOfTrial = 0.5;

  static std::size_t index(TeamMode mode) { return static_cast<std::size_t>(mode); }

  unsigned first_runs_ = 0;  ///< before there is a choice
  unsigned runs_ = 0;        ///< since the last trial, or change of mind
  unsigned interval_ = kFewestRuns;
  std::size_t other_ = 0;  ///< which of the others was tried last, counted from the best
  TeamMode best_ = TeamMode::kPinned;
  std::array<double, kModes> time_ = {};  ///< averages, the last runs count most
};

}  // namespace sluice::cpu
