// Decides whether polling before sleeping pays.
#pragma once

#include <cstdint>

namespace sluice::shm {

/// If the awaited event usually comes late, polling only takes a processor from its producer. After
/// several misses in a row the habit polls only occasionally. Used by one thread at a time.
class SpinHabit {
 public:
  /// `max_ns`, or 0 for now.
  std::int64_t next_ns(std::int64_t max_ns) {
    return misses_ < kMaxMisses || misses_ % kTryEvery == 0 ? max_ns : 0;
  }
  void learn(bool has_come) { misses_ = has_come ? 0 : misses_ + 1; }

 private:
  static constexpr std::uint32_t kMaxMisses = 8;
  static constexpr std::uint32_t kTryEvery = 16;

  std::uint32_t misses_ = 0;
};

}  // namespace sluice::shm
