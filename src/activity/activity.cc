#include "activity/activity.h"

#include <algorithm>

#include "runtime/statistics/histogram.h"

namespace sluice::activity {
namespace {

template <typename Item, typename Key>
const Item* find_by(const std::vector<Item>& items, Key Item::*key, Key value) {
  const auto it = std::ranges::find(items, value, key);
  return it == items.end() ? nullptr : &*it;
}

double per_second(std::int64_t more, double interval_s) {
  return interval_s > 0 ? static_cast<double>(std::max<std::int64_t>(more, 0)) / interval_s : 0;
}

/// A number or handle names one thing only, so what it counted before is less.
std::map<std::uint64_t, double> utilisation(const std::vector<terms::Usage>& before,
                                            const std::vector<terms::Usage>& now) {
  std::map<std::uint64_t, double> shares;
  for (const terms::Usage& one : now) {
    const terms::Usage* old = find_by(before, &terms::Usage::id, one.id);
    const std::int64_t age_ns = one.age_ns - (old == nullptr ? 0 : old->age_ns);
    const std::int64_t busy_ns = one.core_busy_ns - (old == nullptr ? 0 : old->core_busy_ns);
    const double capacity_ns = static_cast<double>(age_ns) * one.num_cores;
    shares[one.id] =
        capacity_ns > 0 ? std::clamp(static_cast<double>(busy_ns) / capacity_ns, 0.0, 1.0) : 0;
  }
  return shares;
}

using Buckets = std::vector<terms::Latency::Bucket>;
using Counts = std::map<std::int64_t, double>;  ///< by bucket's bound

/// The additions to each bucket since `before`; daemons of minor version 2 report no buckets.
Counts difference(const Buckets& before, const Buckets& now) {
  Counts counts;
  for (const auto& bucket : now) counts[bucket.bound_ns] += static_cast<double>(bucket.count);
  for (const auto& bucket : before) counts[bucket.bound_ns] -= static_cast<double>(bucket.count);
  std::erase_if(counts, [](const auto& one) { return one.first < 0 || one.second <= 0; });
  return counts;
}

/// The middle of the bucket that has the value of this rank; 0 if there is none.
std::int64_t quantile_ns(const Counts& counts, double fraction) {
  double total = 0;
  for (const auto& [bound_ns, count] : counts) total += count;
  double seen = 0;
  for (const auto& [bound_ns, count] : counts) {
    seen += count;
    if (seen < fraction * total) continue;
    using runtime::HistogramBuckets;
    // The bounds are those of runtime::HistogramBuckets, which a daemon reports.
    const std::size_t next = HistogramBuckets::index_of(bound_ns) + 1;
    if (next == HistogramBuckets::kCount) return bound_ns;
    return bound_ns + (HistogramBuckets::lower_bound_ns(next) - 1 - bound_ns) / 2;
  }
  return 0;
}

}  // namespace

std::int64_t num_answered(const std::vector<terms::CodeCount>& answered) {
  std::int64_t sum = 0;
  for (const terms::CodeCount& one : answered) sum += one.count;
  return sum;
}

std::int64_t num_errors(const std::vector<terms::CodeCount>& answered) {
  std::int64_t sum = 0;
  for (const terms::CodeCount& one : answered) {
    if (one.code != RuntimeCode::kOk) sum += one.count;
  }
  return sum;
}

Activity activity_between(const Snapshot& before, const Snapshot& now) {
  Activity activity;
  activity.interval_s = static_cast<double>(now.time_ns - before.time_ns) / 1e9;
  Counts all_times;
  for (const terms::ModelStatistics& one : now.statistics.models) {
    const auto* old = find_by(before.statistics.models, &terms::ModelStatistics::model, one.model);
    const auto more = [&](std::int64_t (*count)(const std::vector<terms::CodeCount>&)) {
      return count(one.answered) - (old == nullptr ? 0 : count(old->answered));
    };
    const Counts times =
        difference(old == nullptr ? Buckets() : old->total.buckets, one.total.buckets);
    const Activity::Rate rate = {per_second(more(num_answered), activity.interval_s),
                                 per_second(more(num_errors), activity.interval_s),
                                 quantile_ns(times, 0.5), quantile_ns(times, 0.99)};
    activity.models[one.model] = rate;
    for (const auto& [bound_ns, count] : times) all_times[bound_ns] += count;
    activity.all.requests_per_s += rate.requests_per_s;
    activity.all.errors_per_s += rate.errors_per_s;
  }
  activity.all.p50_ns = quantile_ns(all_times, 0.5);
  activity.all.p99_ns = quantile_ns(all_times, 0.99);
  activity.group_utilisation = utilisation(before.statistics.groups, now.statistics.groups);
  activity.device_utilisation = utilisation(before.statistics.devices, now.statistics.devices);
  return activity;
}

}  // namespace sluice::activity
