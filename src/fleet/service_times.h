// How long a model computes: random times of a histogram that a daemon recorded.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/result.h"
#include "terms/server/statistics.h"

namespace sluice::fleet {

/// As std::mt19937_64, whose numbers are the same everywhere.
using Random = std::mt19937_64;

/// In [0, 1).
inline double uniform(Random& random) { return static_cast<double>(random() >> 11U) * 0x1p-53; }

/// Draws times as often as a histogram has them, even within a bucket, and scaled to a mean: that
/// of a bucket's middle is off by a sixteenth, which near the capacity is all. Immutable.
class ServiceTimes {
 public:
  /// The buckets of a runtime::Histogram, ascending; `mean_ns` of the times that it got.
  /// Fails: kInvalidArgument for none, for more than runtime::HistogramBuckets has, for bounds and
  /// counts that no histogram has, and for a mean that they cannot have.
  static Result<ServiceTimes> create(std::span<const terms::Latency::Bucket> buckets,
                                     std::int64_t mean_ns);

  std::int64_t draw_ns(Random& random) const;
  double mean_ns() const { return mean_ns_; }

 private:
  struct Bucket {
    double share = 0;  ///< of the times that lie in this bucket or before it
    double low_ns = 0;
    double width_ns = 0;
  };
  std::vector<Bucket> buckets_;
  double mean_ns_ = 0;
};

/// The counts of `now` that `before` did not have: what was recorded in between.
std::vector<terms::Latency::Bucket> added_since(std::span<const terms::Latency::Bucket> before,
                                                std::span<const terms::Latency::Bucket> now);

}  // namespace sluice::fleet
