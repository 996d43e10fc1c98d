// Whether looking before sleeping has been worth it.
#pragma once

#include <cstdint>

namespace sluice::shm {

/// Where what is waited for mostly comes late, looking for it only takes a processor from whoever
/// brings it: after some misses in a row it is tried now and then only. By one thread at a time.
class SpinHabit {
 public:
  /// `most_ns`, or 0 for now.
  std::int64_t next_ns(std::int64_t most_ns) {
    return misses_ < kMostMisses || misses_ % kTryEvery == 0 ? most_ns : 0;
  }
  void learn(bool has_come) { misses_ = has_come ? 0 : misses_ + 1; }

 private:
  static constexpr std::uint32_t kMostMisses = 8;
  static constexpr std::uint32_t kTryEvery = 16;

  std::uint32_t misses_ = 0;
};

}  // namespace sluice::shm
