// How fast a model completes requests, for the retry hint of a full waiting line and for forecasts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::runtime {

/// The average time between two completions while the model is busy. An exponential average, in
/// which the last completion weighs an eighth, follows a change of load within about ten requests.
/// Not thread-safe.
class CompletionPace {
 public:
  /// A request arrived at an idle model: the pause before it is not part of the pace.
  void resume(std::int64_t now_ns) { last_ns_ = now_ns; }
  /// Requests of one run are completed together, and share its interval.
  void complete(std::int64_t now_ns, std::int64_t num_requests = 1) {
    const std::int64_t interval_ns = std::max<std::int64_t>(now_ns - last_ns_, 0) / num_requests;
    average_ns_ += has_average_ ? (interval_ns - average_ns_) / kWeight : interval_ns;
    has_average_ = true;
    last_ns_ = now_ns;
  }

  /// When to try again if `num_waiting` requests wait: after about half of them have left. Room for
  /// several clients is free by then, and the slots are still busy.
  std::int64_t retry_after_ns(std::int64_t num_waiting) const {
    if (!has_average_) return kDefaultRetryNs;
    // Divided before the product: an average of hours times a long line must not overflow.
    const std::int64_t ahead = std::max<std::int64_t>(num_waiting / 2, 1);
    if (average_ns_ > kMaxRetryNs / ahead) return kMaxRetryNs;
    return std::max(average_ns_ * ahead, kMinRetryNs);
  }
  /// How long a request waits behind `num_ahead` others while the model is busy: for those, and for
  /// the next completion. 0 before the first one. Requires: fewer than 2^20.
  std::int64_t wait_ns(std::int64_t num_ahead, std::int64_t now_ns) const {
    const std::int64_t average_ns = std::min(average_ns_, kMaxRetryNs);
    return average_ns * num_ahead + std::max<std::int64_t>(last_ns_ + average_ns - now_ns, 0);
  }

 private:
  static constexpr std::int64_t kWeight = 8;
  static constexpr std::int64_t kMinRetryNs = 1'000'000;       // less is noise beside a network
  static constexpr std::int64_t kMaxRetryNs = 60'000'000'000;  // a client should look again by then
  static constexpr std::int64_t kDefaultRetryNs = 10'000'000;  // before the first completion

  std::int64_t last_ns_ = 0;
  std::int64_t average_ns_ = 0;
  bool has_average_ = false;
};

}  // namespace sluice::runtime
