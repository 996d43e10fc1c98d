#include "fleet/service_times.h"

#include <algorithm>
#include <map>

#include "runtime/statistics/histogram.h"

namespace sluice::fleet {
namespace {

using runtime::HistogramBuckets;

/// A thousand years of runs of a nanosecond: sums of all buckets stay below 2^63.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 48;

// A bucket is at most an eighth of its bound wide, and each statistic is of a slightly different
// moment.
constexpr double kLeastScale = 0.75;
constexpr double kMostScale = 1.25;

std::int64_t end_ns(std::int64_t bound_ns) {
  const std::size_t next = HistogramBuckets::index_of(bound_ns) + 1;
  return next < HistogramBuckets::kCount ? HistogramBuckets::lower_bound_ns(next) : 2 * bound_ns;
}

}  // namespace

Result<ServiceTimes> ServiceTimes::create(std::span<const terms::Latency::Bucket> buckets,
                                          std::int64_t mean_ns) {
  if (buckets.empty()) return invalid_argument("a histogram without times");
  if (buckets.size() > HistogramBuckets::kCount) {
    return invalid_argument("a histogram of {} buckets; at most {} are read", buckets.size(),
                            HistogramBuckets::kCount);
  }
  double total = 0;
  std::int64_t last_ns = -1;
  for (const auto& [bound_ns, count] : buckets) {
    const bool is_bound =
        bound_ns > last_ns &&
        HistogramBuckets::lower_bound_ns(HistogramBuckets::index_of(bound_ns)) == bound_ns;
    if (!is_bound || count < 1 || count > kMostCounted) {
      return invalid_argument(
          "the bucket from {} ns with {} times cannot be in a daemon's histogram", bound_ns, count);
    }
    last_ns = bound_ns;
    total += static_cast<double>(count);
  }
  ServiceTimes times;
  double seen = 0;
  for (const auto& [bound_ns, count] : buckets) {
    const auto low_ns = static_cast<double>(bound_ns);
    const double width_ns = static_cast<double>(end_ns(bound_ns)) - low_ns;
    const double share = static_cast<double>(count) / total;
    times.mean_ns_ += share * (low_ns + width_ns / 2);
    times.buckets_.push_back({seen += share, low_ns, width_ns});
  }
  times.buckets_.back().share = 1;
  const double scale = static_cast<double>(mean_ns) / times.mean_ns_;
  if (scale < kLeastScale || scale > kMostScale) {
    return invalid_argument("a mean of {} ns is not that of times of {:.0f} ns on average", mean_ns,
                            times.mean_ns_);
  }
  for (Bucket& bucket : times.buckets_) {
    bucket.low_ns *= scale;
    bucket.width_ns *= scale;
  }
  times.mean_ns_ *= scale;
  return times;
}

std::int64_t ServiceTimes::draw_ns(Random& random) const {
  const double drawn = uniform(random);
  const auto bucket = std::ranges::upper_bound(buckets_, drawn, {}, &Bucket::share);
  return static_cast<std::int64_t>(bucket->low_ns + bucket->width_ns * uniform(random));
}

std::vector<terms::Latency::Bucket> added_since(std::span<const terms::Latency::Bucket> before,
                                                std::span<const terms::Latency::Bucket> now) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const auto& [bound_ns, count] : now) counts[bound_ns] += count;
  for (const auto& [bound_ns, count] : before) counts[bound_ns] -= count;
  std::vector<terms::Latency::Bucket> added;
  for (const auto& [bound_ns, count] : counts) {
    if (count > 0) added.push_back({bound_ns, count});
  }
  return added;
}

}  // namespace sluice::fleet
