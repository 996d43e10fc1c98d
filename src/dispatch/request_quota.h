// How many requests a client may have in flight, how long a run of each may take, and how
// important it may be.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
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

/// Limits of one request. Clients of several roles may share a quota, so it has no limit of a run.
struct RequestLimits {
  std::shared_ptr<RequestQuota> quota = nullptr;  ///< null for none
  std::int64_t max_run_ns = 0;                    ///< as runtime::Request; 0: no limit
  /// A request that asks for more has this one.
  std::int32_t max_priority = std::numeric_limits<std::int32_t>::max();
};

}  // namespace sluice::dispatch
