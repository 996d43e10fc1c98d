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
/// come and go: seldom, where trials only confirm the choice. A trial is a few runs in a row, for
/// the kernel needs a while to move threads to where there is room, and fewer where the first are
/// far from the best, or so long that one is enough. Of runs that are shorter than the kernel's
/// time slices the average counts, for some meet a neighbour's slice and some do not; of longer
/// ones the least, for they all do. Pauses between runs make knowledge older, too; after a long one
/// it begins anew. Used by one thread at a time.
class TeamChoice {
 public:
  /// How the run goes that begins at `now_ns`.
  TeamMode next(std::int64_t now_ns) {
    if (now_ns - end_ns_ > kForgottenNs) *this = TeamChoice();
    begin_ns_ = now_ns;
    if (is_first()) return static_cast<TeamMode>(num_tried_);
    return is_trial_ ? static_cast<TeamMode>((index(best_) + other_) % kModes) : best_;
  }

  /// It went this way and ended at `now_ns`.
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
  static constexpr double kTrialNs = 40e6;    ///< some of the kernel's time slices
  static constexpr unsigned kFewestRuns = 4;  ///< between trials
  static constexpr double kFewestNs = 200e6;  ///< between trials, and twice that, and so on up to
  static constexpr double kMostNs = 3200e6;
  /// Share of that time that runs have to take, or trials cost much.
  static constexpr double kRunning = 0.125;
  static constexpr auto kForgottenNs = static_cast<std::int64_t>(kMostNs);
  static constexpr double kHopeless =
      1.2;  ///< so much slower than the best: no need to look longer
  static constexpr double kWeightOfLast = 0.1;
  static constexpr double kWorthIt =
      0.95;  ///< others take as much less than pinned, or are not taken

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
      interval_ns_ = kFewestNs;
    } else if (is_trial_) {
      interval_ns_ = std::min(interval_ns_ * (is_hopeless(time_[index(mode)]) ? 4 : 2), kMostNs);
    }
    if (best != best_ || is_trial_) restart();
    best_ = best;
    is_trial_ = runs_ >= kFewestRuns && ns_ >= kRunning * interval_ns_ &&
                static_cast<double>(end_ns_ - since_ns_) >= interval_ns_;
    if (!is_trial_) return;
    other_ = other_ % (kModes - 1) + 1;
    restart();
  }

  std::size_t num_tried_ = 0;  ///< of the modes, before there is a choice
  unsigned runs_ = 0;          ///< of the trial under way, or since the last one
  double ns_ = 0;
  double least_ns_ = 0;
  std::int64_t begin_ns_ = 0;  ///< of the last run
  std::int64_t end_ns_ = 0;    ///< of it, once noted
  std::int64_t since_ns_ = 0;  ///< of the trial under way the begin, or of the last one the end
  bool is_trial_ = false;
  double interval_ns_ = kFewestNs;
  std::size_t other_ = 0;  ///< which of the others is tried, counted from the best
  TeamMode best_ = TeamMode::kPinned;
  std::array<double, kModes> time_ = {};  ///< of the last runs
};

}  // namespace sluice::cpu
