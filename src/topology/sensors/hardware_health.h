// Whether a device's hardware is well, by its sensors.
#pragma once

#include <cstdint>
#include <optional>

#include "terms/server/sensors.h"
#include "terms/server/statistics.h"

namespace sluice::topology {

/// Remembers one device's sensors between two looks. Not thread-safe.
///
///                  limit reached, memory lost data, driver lost it
///     healthy, degraded ------------------------------------> failed
///             ^                                                  |
///             +--- kCoolerBy below the limit, kQuietNs without ---+
///                  lost data, and the driver has it again
///
/// Degraded: heat slows it down, or did within the last kSlowNs. Corrected errors are no illness.
class HardwareHealth {
 public:
  /// A device that is near its limit would come and go with each degree.
  static constexpr double kCoolerBy = 5;
  static constexpr std::int64_t kQuietNs = 600'000'000'000;
  static constexpr std::int64_t kSlowNs = 60'000'000'000;
  /// A hot device whose temperature could not be read at so many looks counts as hot no more.
  static constexpr int kBlindLooks = 12;

  /// What counters had at their first value happened before. `now_ns`: on one monotonic clock.
  terms::Health judge(const terms::Sensors& now, std::int64_t now_ns);

 private:
  bool is_hot_ = false;
  int num_blind_ = 0;         ///< looks without a temperature since it was hot
  double temperature_c_ = 0;  ///< the last that could be read, with its limit
  double limit_c_ = 0;
  std::optional<std::int64_t> num_uncorrected_;  ///< the last that could be read
  std::optional<std::int64_t> num_throttles_;
  std::optional<std::int64_t> lost_data_ns_;  ///< when it last did
  std::optional<std::int64_t> slowed_ns_;     ///< when heat last slowed it down
};

}  // namespace sluice::topology
