// Random numbers that depend on the seed only, not on the machine.
#pragma once

#include <cstdint>

#include "description/description.h"

namespace sluice::sim {

/// Steele, Lea and Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), the
/// variant known as SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// `duration_ns` times the next random factor; never below 0. Draws nothing for kNone.
std::int64_t jittered(std::int64_t duration_ns, const Jitter& jitter, Random& random);

}  // namespace sluice::sim
