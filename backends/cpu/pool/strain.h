#pragma once

#include <algorithm>

namespace sluice::cpu {

/// Whether a team keeps being held up: by neighbours on its processors, as far as one can tell.
///
/// Told of every run which share of its time members waited long for each other. Some runs in a row
/// with a large share make the strain high, several times as many without make it low again:
///
///     low -- long waits in most of the last runs --> high -- none for a while --> low
///
/// One run never does: what disturbs a single one is gone before anything could be gained.
class Strain {
 public:
  void note(double waited_share) {
    const int change = waited_share < kLarge ? -1 : waited_share < kVeryLarge ? 3 : 6;
    level_ = std::clamp(level_ + change, 0, kMost);
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

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
