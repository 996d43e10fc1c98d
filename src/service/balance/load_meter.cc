#include "service/balance/load_meter.h"

#include <algorithm>

namespace sluice::service {

double LoadMeter::load(std::int64_t now_ns, const std::function<LoadSample()>& sample) {
  const std::lock_guard lock(mutex_);
  if (has_sample_ && now_ns - sampled_ns_ < kIntervalNs) return load_;
  const LoadSample now = sample();
  const double busy = has_sample_ ? busiest_group(now, now_ns - sampled_ns_) : 0;
  core_busy_ns_.clear();
  for (const LoadSample::Group& group : now.groups) core_busy_ns_[group.id] = group.core_busy_ns;
  has_sample_ = true;
  sampled_ns_ = now_ns;
  load_ = std::clamp(std::max(busy, now.fullest_line), 0.0, 1.0);
  return load_;
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
