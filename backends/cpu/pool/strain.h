#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// Whether a team keeps being held up: by neighbours on its processors, as far as one can tell.
///
/// Told of every run which share of its time members waited long for each other. Some runs in a row
/// with a large share make the strain high, several times as many without make it low again:
///
///     low -- long waits in most of the last runs --> high -- none for a while --> low
///
/// A long run counts for several short ones, but one never does: what disturbs a single one is gone
/// before anything could be gained.
class Strain {
 public:
  void note(double waited_share, std::int64_t run_ns) {
    const int change = waited_share < kLarge ? -1 : waited_share < kVeryLarge ? 3 : 6;
    const auto weight = static_cast<int>(std::clamp<std::int64_t>(run_ns / kShortNs, 1, kMostRuns));
    level_ = std::clamp(level_ + change * weight, 0, kMost);
    if (level_ == kMost) high_ = true;
    if (level_ == 0) high_ = false;
  }

  /// The neighbours are gone.
  void relax() { *this = Strain(); }

  bool is_high() const { return high_; }

 private:
  static constexpr double kLarge = 0.15;  ///< shares of steps are not so unlike
  static constexpr double kVeryLarge = 0.3;
  static constexpr int kMost = 24;
  static constexpr std::int64_t kShortNs = 20'000'000;  ///< a run that counts once
  static constexpr std::int64_t kMostRuns = 3;          ///< for which a long one counts

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
