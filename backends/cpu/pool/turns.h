#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// When a helper rests, so that it is not the kernel that takes its processor away in the midst of
/// a piece that others wait for. Of a processor that it shares with a neighbour it has half: it
/// works for a turn, and rests for as long. Turns grow while nobody takes the processor away, and
/// become shorter when somebody did. Used by one thread.
class Turns {
 public:
  /// How long to rest now, in nanoseconds; 0 in the midst of a turn. `preemptions` gives how often
  /// the thread lost its processor; it is called where a turn begins and ends only.
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
    const bool was_taken_away = preemptions() != preempted_;
    turn_ns_ = std::clamp(was_taken_away ? turn_ns_ / 2 : turn_ns_ + turn_ns_ / 8, kShortestNs,
                          kLongestNs);
    return std::min(worked_ns, kLongestNs);
  }

 private:
  static constexpr std::int64_t kShortestNs = 300'000;
  static constexpr std::int64_t kLongestNs = 4'000'000;

  std::int64_t turn_ns_ = 1'000'000;
  std::int64_t began_ns_ = 0;
  std::int64_t preempted_ = 0;  ///< how often, when the turn began
  bool is_resting_ = true;
};

}  // namespace sluice::cpu
