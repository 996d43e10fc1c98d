#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// Detects CPU contention from the time that members of a pinned team wait at barriers.
///
/// The caller reports every run: the share of the run that members waited long for each other. The
/// level rises with runs of a large share and falls with the others:
///
///     low -- long waits in most of the last runs --> high -- several times as many without --> low
///
/// One run never suffices: what disturbs a single run is over before another mode could help. A
/// run longer than many time slices meets any other process, so it counts for several: three in a
/// row make the level high. A quiet long run between two that waited lowers the level again: the
/// other process did not stay. Used by one thread at a time.
class ContentionDetector {
 public:
  void note(double waited_share, std::int64_t run_ns) {
    const bool waited = waited_share >= kLarge;
    if (run_ns >= kLongNs) {
      level_ += waited ? kOfLongRun : -kOfLongRun;
    } else {
      level_ += !waited ? -1 : waited_share < kVeryLarge ? 3 : 6;
    }
    level_ = std::clamp(level_, 0, kMaxLevel);
    if (level_ == kMaxLevel) high_ = true;
    if (level_ == 0) high_ = false;
  }

  /// Forgets everything: the other processes have left.
  void relax() { *this = ContentionDetector(); }

  bool is_high() const { return high_; }

 private:
  /// Steps divide unevenly among members by less than this.
  static constexpr double kLarge = 0.15;
  static constexpr double kVeryLarge = 0.3;
  /// Levels at which the state changes are 0 and kMaxLevel: in between, it stays as it is
  /// (hysteresis).
  static constexpr int kMaxLevel = 24;
  static constexpr std::int64_t kLongNs = 60'000'000;  ///< many of the kernel's time slices
  static constexpr int kOfLongRun = kMaxLevel / 3;

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
