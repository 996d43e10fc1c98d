#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// Limits a helper to half of its processor while another process shares it.
///
/// A scheduler that gives each of two processes half of a core preempts the one that never sleeps,
/// perhaps in the middle of a piece that others wait for. A helper therefore works for a turn and
/// rests as long between pieces. Turns grow by an eighth while the thread is not preempted, and
/// halve when it was. Used by one thread.
class DutyCycle {
 public:
  /// Nanoseconds to rest now, between two pieces; 0 within a turn. `preemptions` returns how often
  /// the thread lost its processor so far; it is a system call, so it is called only where a turn
  /// begins or ends.
  template <typename Count>
  std::int64_t rest_ns(std::int64_t now_ns, const Count& preemptions) {
    if (is_resting_) {
      is_resting_ = false;
      began_ns_ = now_ns;
      preempted_ = preemptions();
    }
    const std::int64_t worked_ns = now_ns - began_ns_;
    if (worked_ns < turn_ns_) return 0;
    is_resting_ = true;
    const bool was_preempted = preemptions() != preempted_;
    turn_ns_ =
        std::clamp(was_preempted ? turn_ns_ / 2 : turn_ns_ + turn_ns_ / 8, kShortestNs, kLongestNs);
    return std::min(worked_ns, kLongestNs);
  }

 private:
  /// Bounds of a turn, in the order of the scheduler's time slices.
  static constexpr std::int64_t kShortestNs = 300'000;
  static constexpr std::int64_t kLongestNs = 4'000'000;

  std::int64_t turn_ns_ = 1'000'000;
  std::int64_t began_ns_ = 0;
  std::int64_t preempted_ = 0;  ///< preemptions so far when the turn began
  bool is_resting_ = true;
};

}  // namespace sluice::cpu
