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
/// One run never does: what disturbs a single one is gone before anything could be gained. A run so
/// long that a neighbour meets it in any case counts for several, either way: three in a row make
/// the strain high, but a quiet one between two that waited says that nobody stays.
class Strain {
 public:
  void note(double waited_share, std::int64_t run_ns) {
    const bool waited = waited_share >= kLarge;
    if (run_ns >= kLongNs) {
      level_ += waited ? kOfLongRun : -kOfLongRun;
    } else {
      level_ += !waited ? -1 : waited_share < kVeryLarge ? 3 : 6;
    }
    level_ = std::clamp(level_, 0, kMost);
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
  static constexpr std::int64_t kLongNs = 60'000'000;  ///< many of the kernel's time slices
  static constexpr int kOfLongRun = kMost / 3;

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
