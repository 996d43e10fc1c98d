// How busy a daemon is, for balancers that spread requests over several daemons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "terms/group.h"

namespace sluice::service {

/// What a daemon did until a moment.
struct LoadSample {
  struct Group {
    terms::CoreGroupId id = {};
    std::int32_t num_cores = 0;
    std::int64_t core_busy_ns = 0;  ///< of kernels so far, times their cores
  };
  std::vector<Group> groups = {};
  double fullest_line = 0;    ///< the largest share of a model's waiting line that is taken
  std::int64_t answered = 0;  ///< requests so far, of the models that are loaded
  std::int64_t failed = 0;    ///< those of them that failed
};

/// The figures that ORCA calls application_utilization, rps_fractional and eps, over the interval
/// that ended last: https://github.com/cncf/xds/blob/main/xds/data/orca/v3/orca_load_report.proto
struct LoadReport {
  /// From 0 to 1: the larger of the busiest group's share of its cores' time and the fullest
  /// waiting line. The machine's own processor time would mislead: a group of two cores can be full
  /// on a machine of 64.
  double utilization = 0;
  double requests_per_second = 0;  ///< that were answered
  double errors_per_second = 0;    ///< those of them that failed
};

/// Reports the load of a daemon. Safe across threads.
class LoadMeter {
 public:
  /// Shortest interval: whoever asks more often, as several balancers do, gets the figures again.
  static constexpr std::int64_t kIntervalNs = 500'000'000;

  /// `sample` is called, under a lock, if the interval is over; it makes no call into this. The
  /// first call sees waiting lines alone.
  LoadReport report(std::int64_t now_ns, const std::function<LoadSample()>& sample);

 private:
  LoadReport report_of(const LoadSample& now, std::int64_t duration_ns) const;
  double busiest_group(const LoadSample& now, std::int64_t duration_ns) const;

  std::mutex mutex_;  ///< guards the members below
  bool has_sample_ = false;
  std::int64_t sampled_ns_ = 0;
  std::map<terms::CoreGroupId, std::int64_t> core_busy_ns_;
  std::int64_t answered_ = 0;
  std::int64_t failed_ = 0;
  LoadReport report_;
};

}  // namespace sluice::service
