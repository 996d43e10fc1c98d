#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// Whether a team keeps being held up: by neighbours on its processors, as far as one can tell.
///
/// Told of every run how often somebody waited long. Some runs in a row with such waits make the
/// strain high, several times as many without make it low again:
///
///     low -- long waits in most of the last runs --> high -- none for a while --> low
///
/// One run never does: what disturbs a single one is gone before anything could be gained.
class Strain {
 public:
  void note(std::uint32_t long_waits) {
    const int change = long_waits == 0 ? -1 : long_waits < kMany ? 3 : 6;
    level_ = std::clamp(level_ + change, 0, kMost);
    if (level_ == kMost) high_ = true;
    if (level_ == 0) high_ = false;
  }

  bool is_high() const { return high_; }

 private:
  static constexpr std::uint32_t kMany = 4;
  static constexpr int kMost = 24;

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
