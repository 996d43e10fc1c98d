#include "daemon/endurance/paired_medians.h"

#include <algorithm>
#include <cmath>

namespace sluice::testing {
namespace {

constexpr double kBucketRatio = 1.005;
constexpr std::int64_t kLeastOfASecond = 50;

}  // namespace

void Durations::add(std::int64_t duration_ns) {
  const double bucket = std::log(static_cast<double>(std::max<std::int64_t>(duration_ns, 1))) /
                        std::log(kBucketRatio);
  ++counts_[std::min(static_cast<std::size_t>(bucket), kBuckets - 1)];
}

std::int64_t Durations::count() const {
  std::int64_t sum = 0;
  for (const auto& count : counts_) sum += count.load();
  return sum;
}

double Durations::percentile_ns(double share) const {
  auto left = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count())));
  for (std::size_t i = 0; i < kBuckets; ++i) {
    left -= counts_[i].load();
    if (left <= 0) return count() == 0 ? 0 : std::pow(kBucketRatio, static_cast<double>(i) + 0.5);
  }
  return 0;
}

void Durations::move_to(Durations& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) other.counts_[i] += counts_[i].exchange(0);
}

void PairedMedians::end_second() {
  if (requests.count() >= kLeastOfASecond && control.count() >= kLeastOfASecond) {
    ratios_.push_back(requests.percentile_ns(0.5) / control.percentile_ns(0.5));
  }
  requests.move_to(all_requests_);
  Durations forgotten;
  control.move_to(forgotten);
}

double PairedMedians::ratio() const {
  if (ratios_.empty()) return 0;
  std::vector<double> sorted = ratios_;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

}  // namespace sluice::testing
