#include "open_inference/load_reporter.h"

#include <algorithm>

#include "base/clock.h"

namespace sluice::open_inference {
namespace {

constexpr std::int64_t kIntervalNs = 1'000'000'000;

}  // namespace

LoadReporter::Counts LoadReporter::count() const {
  Counts counts = {.time_ns = system_clock().now_ns()};
  const auto models = service_.statistics(0);
  if (!models.is_ok()) return counts;
  for (const terms::ModelStatistics& model : *models) {
    for (const terms::CodeCount& one : model.answered) {
      counts.answered += one.count;
      if (one.code != RuntimeCode::kOk) counts.failed += one.count;
    }
  }
  return counts;
}

void LoadReporter::end_interval(const Counts& now) {
  const double seconds = static_cast<double>(now.time_ns - counts_.time_ns) / 1e9;
  // Counts of models that were unloaded are gone.
  const auto rate = [&](std::int64_t before, std::int64_t after) {
    return static_cast<double>(std::max<std::int64_t>(after - before, 0)) / seconds;
  };
  report_.requests_per_second = has_counts_ ? rate(counts_.answered, now.answered) : 0;
  report_.errors_per_second = has_counts_ ? rate(counts_.failed, now.failed) : 0;
  counts_ = now;
  has_counts_ = true;
}

LoadReport LoadReporter::report() {
  const double utilization = service_.load();
  const std::lock_guard lock(mutex_);
  if (!has_counts_ || system_clock().now_ns() - counts_.time_ns >= kIntervalNs) {
    end_interval(count());
  }
  report_.utilization = utilization;
  return report_;
}

}  // namespace sluice::open_inference
