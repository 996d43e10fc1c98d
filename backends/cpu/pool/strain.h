#pragma once

#include <algorithm>

namespace sluice::cpu {

/// Whether a team keeps being held up: by neighbours on its processors, as far as one can tell.
///
/// Told of every run whether somebody waited so long that they went to sleep. A few such runs in a
/// row make the strain high, three times as many without make it low again:
///
///     low -- long waits in most of the last runs --> high -- none for a while --> low
class Strain {
 public:
  void note(bool waited_long) {
    level_ = std::clamp(level_ + (waited_long ? 3 : -1), 0, kMost);
    if (level_ == kMost) high_ = true;
    if (level_ == 0) high_ = false;
  }

  bool is_high() const { return high_; }

 private:
  static constexpr int kMost = 24;

  int level_ = 0;
  bool high_ = false;
};

}  // namespace sluice::cpu
