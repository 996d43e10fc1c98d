#include "service/balance/load_meter.h"

#include <algorithm>

namespace sluice::service {

LoadReport LoadMeter::report(std::int64_t now_ns, const std::function<LoadSample()>& sample) {
  const std::lock_guard lock(mutex_);
  if (has_sample_ && now_ns - sampled_ns_ < kIntervalNs) return report_;
  const LoadSample now = sample();
  report_ = has_sample_ ? report_of(now, now_ns - sampled_ns_) : LoadReport();
  report_.utilization = std::clamp(std::max(report_.utilization, now.fullest_line), 0.0, 1.0);
  core_busy_ns_.clear();
  for (const LoadSample::Group& group : now.groups) core_busy_ns_[group.id] = group.core_busy_ns;
  answered_ = now.answered;
  failed_ = now.failed;
  has_sample_ = true;
  sampled_ns_ = now_ns;
  return report_;
}

LoadReport LoadMeter::report_of(const LoadSample& now, std::int64_t duration_ns) const {
  // Counts of models that were unloaded are gone.
  const auto rate = [&](std::int64_t before, std::int64_t after) {
    const auto count = static_cast<double>(std::max<std::int64_t>(after - before, 0));
    return count * 1e9 / static_cast<double>(duration_ns);
  };
  return {busiest_group(now, duration_ns), rate(answered_, now.answered),
          rate(failed_, now.failed)};
}

double LoadMeter::busiest_group(const LoadSample& now, std::int64_t duration_ns) const {
  double busiest = 0;
  for (const LoadSample::Group& group : now.groups) {
    const auto before = core_busy_ns_.find(group.id);
    const std::int64_t busy_ns =
        group.core_busy_ns - (before == core_busy_ns_.end() ? 0 : before->second);
    const double whole = static_cast<double>(duration_ns) * group.num_cores;
    if (whole > 0) busiest = std::max(busiest, static_cast<double>(busy_ns) / whole);
  }
  return busiest;
}

}  // namespace sluice::service
