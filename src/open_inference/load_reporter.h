// The load of a daemon and its rates, for balancers that read ORCA's reports.
#pragma once

#include <cstdint>
#include <mutex>

#include "service/service.h"

namespace sluice::open_inference {

/// The figures that ORCA calls application_utilization, rps_fractional and eps:
/// https://github.com/cncf/xds/blob/main/xds/data/orca/v3/orca_load_report.proto
struct LoadReport {
  double utilization = 0;          ///< from 0 to 1, as Service::load
  double requests_per_second = 0;  ///< that were answered
  double errors_per_second = 0;    ///< those of them that failed
};

/// Makes reports; safe from any thread. Rates are of the interval that ended last, of at least a
/// second, so that many who ask cost one look.
class LoadReporter {
 public:
  /// `service` outlives this.
  explicit LoadReporter(const service::Service& service) : service_(service) {}

  LoadReport report();

 private:
  struct Counts {
    std::int64_t time_ns = 0;
    std::int64_t answered = 0;
    std::int64_t failed = 0;
  };
  Counts count() const;
  void end_interval(const Counts& now);

  const service::Service& service_;
  std::mutex mutex_;  ///< guards the members below
  bool has_counts_ = false;
  Counts counts_;  ///< at the end of the last interval
  LoadReport report_;
};

}  // namespace sluice::open_inference
