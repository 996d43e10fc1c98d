// How many requests a client may have in flight.
#pragma once

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

 private:
  const std::int64_t max_in_flight_;
  mutable std::mutex mutex_;
  std::int64_t num_in_flight_ = 0;
  Status closed_;  ///< not ok: why
};

}  // namespace sluice::dispatch
