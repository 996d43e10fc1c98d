// Compares the duration of requests with a control that is timed in the same seconds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace sluice::testing {

/// Durations in buckets of half a per cent, without memory that grows. Safe across threads.
class Durations {
 public:
  void add(std::int64_t duration_ns);
  /// 0 if there are none.
  /// Requires: 0 < share <= 1.
  double percentile_ns(double share) const;
  std::int64_t count() const;
  /// Moves the measurements to `other`. What is added meanwhile may get lost.
  void move_to(Durations& other);

 private:
  static constexpr std::size_t kBuckets = 4096;
  std::array<std::atomic<std::int64_t>, kBuckets> counts_ = {};
};

/// Whatever else goes on on the machine slows requests and control in the same second. So each
/// second gives one number, the requests' median over the control's, and a disturbance of some
/// seconds moves neither it nor the median of all seconds much; a daemon that becomes slower does.
class PairedMedians {
 public:
  Durations requests;  ///< of the current second; any thread adds to them
  Durations control;

  /// A second with too few samples of either does not count. Called by one thread.
  void end_second();
  std::int64_t num_seconds() const { return static_cast<std::int64_t>(ratios_.size()); }
  /// The median of all seconds; 0 if there are none.
  double ratio() const;
  /// Durations of all seconds so far.
  const Durations& all_requests() const { return all_requests_; }

 private:
  std::vector<double> ratios_;
  Durations all_requests_;
};

}  // namespace sluice::testing
