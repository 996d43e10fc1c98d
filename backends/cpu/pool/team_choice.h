#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::cpu {

/// How a pool runs a task.
enum class TeamMode : std::uint8_t {
  kPinned,  ///< by all, each on a processor of its own
  kHelped,  ///< by the caller, and whoever else has a processor just then
  kAlone,   ///< by the caller
};

/// Which way a list that others hold up runs fastest.
///
/// All are tried, the best is taken, and the others are tried again now and then, for neighbours
/// come and go: seldom, where trials only confirm the choice. A trial is a few short runs in a row,
/// or one long one, for the kernel needs a while to move threads to where there is room. Used by
/// one thread at a time.
class TeamChoice {
 public:
  /// How the next run goes; note() tells how it went.
  TeamMode next() const {
    if (is_first()) return static_cast<TeamMode>(num_tried_);
    return is_trial() ? static_cast<TeamMode>((index(best_) + other_) % kModes) : best_;
  }

  void note(TeamMode mode, double nanoseconds) {
    double& time = time_[index(mode)];
    const bool tries = is_first() || is_trial();
    const double weight = tries ? kWeightOfTrial : kWeightOfLast;
    time = time == 0 ? nanoseconds : time + (nanoseconds - time) * weight;
    if (tries) {
      trial_ns_ += nanoseconds;
      if (++trial_runs_ < kTrialRuns && trial_ns_ < kTrialNs) return;
      trial_runs_ = 0;
      trial_ns_ = 0;
    }
    if (is_first() && ++num_tried_ < kModes) return;
    choose();
  }

 private:
  static constexpr std::size_t kModes = 3;
  static constexpr unsigned kTrialRuns = 4;
  static constexpr double kTrialNs = 16e6;     ///< some of the kernel's time slices
  static constexpr unsigned kFewestRuns = 16;  ///< between trials
  static constexpr unsigned kMostRuns = 512;
  static constexpr double kWeightOfLast = 0.2;
  static constexpr double kWeightOfTrial = 0.5;

  static std::size_t index(TeamMode mode) { return static_cast<std::size_t>(mode); }
  bool is_first() const { return num_tried_ < kModes; }
  bool is_trial() const { return !is_first() && runs_ == interval_; }

  void choose() {
    const bool ends_trial = is_trial();
    const auto least = std::min_element(time_.begin(), time_.end()) - time_.begin();
    const auto best = static_cast<TeamMode>(least);
    if (best != best_) {
      interval_ = kFewestRuns;
    } else if (ends_trial) {
      interval_ = std::min(interval_ * 2, kMostRuns);
    }
    runs_ = best != best_ || ends_trial ? 0 : runs_ + 1;
    best_ = best;
    if (is_trial()) other_ = other_ % (kModes - 1) + 1;
  }

  std::size_t num_tried_ = 0;  ///< of the modes, before there is a choice
  unsigned trial_runs_ = 0;    ///< of the trial under way
  double trial_ns_ = 0;
  unsigned runs_ = 0;  ///< since the last trial, or change of mind
  unsigned interval_ = kFewestRuns;
  std::size_t other_ = 0;  ///< which of the others is tried, counted from the best
  TeamMode best_ = TeamMode::kPinned;
  std::array<double, kModes> time_ = {};  ///< averages, the last runs count most
};

}  // namespace sluice::cpu
