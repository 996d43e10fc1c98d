#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::cpu {

/// How a pool runs a task.
enum class TeamMode : std::uint8_t {
  kPinned,  ///< all members, each on a processor of its own, meet at barriers
  kHelped,  ///< the caller leads; a helper takes pieces while it has a processor
  kAlone,   ///< the caller only
};

/// Chooses the fastest TeamMode for one command list while its cores are contended.
///
///     try each mode once --> run the best --(interval is over)--> try one other mode --> run the
///     best
///
/// The interval between trials doubles while trials confirm the choice (fourfold after a hopeless
/// one), and starts anew when the best mode changes: other processes come and go.
///
/// A trial takes a few runs in a row, because the scheduler needs a while to move threads to idle
/// processors. It ends early when its first runs are far from the best, or when one run is long
/// enough. Runs shorter than a time slice are compared by their average, because only some of them
/// meet another process's slice; longer runs all do, and are compared by their shortest time.
///
/// The interval is measured by the clock, so pauses between runs count. After a pause longer than
/// kForgottenNs all measurements are dropped. Used by one thread at a time.
class TeamChoice {
 public:
  /// The mode for the run that begins at `now_ns`.
  TeamMode next(std::int64_t now_ns) {
    if (now_ns - end_ns_ > kForgottenNs) *this = TeamChoice();
    begin_ns_ = now_ns;
    if (is_first()) return static_cast<TeamMode>(num_tried_);
    return is_trial_ ? static_cast<TeamMode>((index(best_) + other_) % kModes) : best_;
  }

  /// That run used `mode` and ended at `now_ns`.
  void note(TeamMode mode, std::int64_t now_ns) {
    end_ns_ = now_ns;
    const auto nanoseconds = static_cast<double>(end_ns_ - begin_ns_);
    const bool tries = is_first() || is_trial_;
    least_ns_ = runs_++ == 0 ? nanoseconds : std::min(least_ns_, nanoseconds);
    ns_ += nanoseconds;
    if (tries && !trial_is_over()) return;
    double& time = time_[index(mode)];
    const double next = time + (nanoseconds - time) * kWeightOfLast;
    if (nanoseconds * kTrialRuns < kTrialNs) {
      time = tries ? ns_ / runs_ : next;
    } else {
      time = tries ? least_ns_ : std::min(nanoseconds, next);
    }
    if (is_first() && ++num_tried_ < kModes) return restart();
    choose(mode);
  }

 private:
  static constexpr std::size_t kModes = 3;
  static constexpr unsigned kFewestTrialRuns = 2;
  static constexpr unsigned kTrialRuns = 4;
  static constexpr double kTrialNs = 40e6;    ///< some of the scheduler's time slices
  static constexpr unsigned kFewestRuns = 4;  ///< between trials
  /// Shortest and longest interval between trials.
  static constexpr double kMinIntervalNs = 200e6;
  static constexpr double kMaxIntervalNs = 3200e6;
  /// Runs must fill this share of an interval: trials of a list that seldom runs would cost much.
  static constexpr double kRunning = 0.125;
  static constexpr auto kForgottenNs = static_cast<std::int64_t>(kMaxIntervalNs);
  static constexpr double kHopeless = 1.2;  ///< a trial this much slower than the best ends early
  static constexpr double kWeightOfLast = 0.1;
  /// Another mode must be 5 % faster than pinned: a pinned team detects the end of contention
  /// itself.
  static constexpr double kWorthIt = 0.95;

  static std::size_t index(TeamMode mode) { return static_cast<std::size_t>(mode); }
  bool is_first() const { return num_tried_ < kModes; }
  bool is_hopeless(double time) const { return time > kHopeless * time_[index(best_)]; }
  bool trial_is_over() const {
    if (runs_ < kFewestTrialRuns && ns_ < kTrialNs) return false;
    return (!is_first() && is_hopeless(least_ns_)) || runs_ == kTrialRuns || ns_ >= kTrialNs;
  }
  void restart() {
    runs_ = 0;
    ns_ = 0;
    since_ns_ = end_ns_;
  }

  TeamMode fastest() const {
    std::array<double, kModes> time = time_;
    time[index(TeamMode::kPinned)] *= kWorthIt;
    return static_cast<TeamMode>(std::min_element(time.begin(), time.end()) - time.begin());
  }

  void choose(TeamMode mode) {
    const TeamMode best = fastest();
    if (best != best_) {
      interval_ns_ = kMinIntervalNs;
    } else if (is_trial_) {
      interval_ns_ =
          std::min(interval_ns_ * (is_hopeless(time_[index(mode)]) ? 4 : 2), kMaxIntervalNs);
    }
    if (best != best_ || is_trial_) restart();
    best_ = best;
    is_trial_ = runs_ >= kFewestRuns && ns_ >= kRunning * interval_ns_ &&
                static_cast<double>(end_ns_ - since_ns_) >= interval_ns_;
    if (!is_trial_) return;
    other_ = other_ % (kModes - 1) + 1;
    restart();
  }

  std::size_t num_tried_ = 0;  ///< modes tried so far; fewer than kModes: no choice yet
  unsigned runs_ = 0;          ///< of the trial in progress, or since the last one
  double ns_ = 0;              ///< their total time
  double least_ns_ = 0;        ///< their shortest time
  std::int64_t begin_ns_ = 0;  ///< of the last run
  std::int64_t end_ns_ = 0;    ///< of the last run, once noted
  std::int64_t since_ns_ = 0;  ///< begin of the trial in progress, or end of the last one
  bool is_trial_ = false;
  double interval_ns_ = kMinIntervalNs;
  std::size_t other_ = 0;  ///< the mode under trial, counted from the best
  TeamMode best_ = TeamMode::kPinned;
  std::array<double, kModes> time_ = {};  ///< estimated time of a run in each mode
};

}  // namespace sluice::cpu
