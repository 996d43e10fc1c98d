// How many requests a client may have in flight, and how long a run of each may take.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/status.h"

namespace sluice::dispatch {

/// Safe across threads.
class RequestQuota {
 public:
  explicit RequestQuota(std::int64_t max_in_flight) : max_in_flight_(max_in_flight) {}

  /// A request begins; `leave` follows when it is answered or refused.
  /// Fails: kQueueFull over the quota; the reason of `close`.
  Status enter();
  void leave();
  /// Refuses all later requests with `reason`.
  void close(const Status& reason);
  std::int64_t num_in_flight() const;
  /// Of requests that come from now on; 0: no limit.
  void set_max_run_ns(std::int64_t ns) { max_run_ns_.store(ns, std::memory_order_relaxed); }
  std::int64_t max_run_ns() const { return max_run_ns_.load(std::memory_order_relaxed); }

 private:
  const std::int64_t max_in_flight_;
  std::atomic<std::int64_t> max_run_ns_ = 0;
  mutable std::mutex mutex_;
  std::int64_t num_in_flight_ = 0;
  Status closed_;  ///< not ok: why
};

}  // namespace sluice::dispatch
