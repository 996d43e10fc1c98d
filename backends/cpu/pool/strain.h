#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// Whether a team keeps being held up: by neighbours on its processors, as far as one can tell.
///
/// Told of every run how often somebody waited long. Several such waits, in one run or in some runs
/// in a row, make the strain high, three times as many runs without make it low again:
///
///     low -- long waits in the last runs --> high -- none for a while --> low
class Strain {
 public:
  void note(std::uint32_t long_waits) {
    const int change = long_waits > 0 ? 3 * static_cast<int>(std::min(long_waits, kEnough)) : -1;
    level_ = std::clamp(level_ + change, 0, kMost);
    if (level_ == kMost) high_ = true;
    if (level_ == 0) high_ = false;
  }

  bool is_high() const { return high_; }

 private:
  static constexpr std::uint32_t kEnough = 8;
  static constexpr int kMost = 3 * static_cast<int>(kEnough);

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
