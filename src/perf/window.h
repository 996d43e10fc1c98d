// What a load measured in an interval of time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "perf/processor_use.h"

namespace sluice::perf {

/// Requests count in the window in which they are answered.
struct Window {
  std::int64_t duration_ns = 0;
  std::vector<std::int64_t> latencies_ns;  ///< of successful requests, in the order of the answers
  std::int64_t num_failed = 0;
  Status first_error;  ///< ok if none failed
  /// Open loop: requests that were due while too many were in flight, and were not sent.
  std::int64_t num_unsent = 0;
  /// Open loop: by how much successful requests left behind their time, in all.
  std::int64_t late_ns = 0;
  ProcessorUse generator;  ///< of this process, the load generator

  double per_second() const;
  double mean_ns() const;
  /// The least latency that a share of the requests did not exceed; 0 without requests.
  /// Requires: 0 < share <= 1.
  std::int64_t latency_ns(double share) const;
};

/// All of them as one.
Window merge(std::span<const Window> windows);

/// perf_analyzer's rule: throughput and mean latency of each of the windows differ from their mean
/// over the windows by at most the share `tolerance`. Windows without a request are not stable.
bool is_stable(std::span<const Window> windows, double tolerance);

}  // namespace sluice::perf
