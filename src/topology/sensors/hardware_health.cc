#include "topology/sensors/hardware_health.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::topology {
namespace {

using terms::HealthState;

/// Whether the counter has grown since `last`, which it becomes. A driver that starts anew begins
/// at 0.
bool has_grown(std::int64_t& last, const std::optional<std::int64_t>& now) {
  if (!now) return false;
  return std::exchange(last, *now) < *now;
}

}  // namespace

terms::Health HardwareHealth::judge(const terms::Sensors& now, std::int64_t now_ns) {
  const bool has_lost = has_grown(num_uncorrected_, now.num_uncorrected_errors);
  const bool was_slowed = has_grown(num_throttles_, now.num_throttles);
  if (!std::exchange(is_first_, false)) {
    if (has_lost) lost_data_ns_ = now_ns;
    if (was_slowed) slowed_ns_ = now_ns;
  }
  if (now.temperature_c && now.temperature_limit_c) {
    temperature_c_ = *now.temperature_c;
    limit_c_ = *now.temperature_limit_c;
    is_hot_ = temperature_c_ >= limit_c_ - (is_hot_ ? kCoolerBy : 0);
  }
  if (!now.fault.empty()) {
    return {
        HealthState::kFailed, fmt::format("its driver says \"{}\"", now.fault),
        "reset the device or restart the machine; it gets new groups when its driver has it again"};
  }
  if (lost_data_ns_ && now_ns - *lost_data_ns_ < kQuietNs) {
    return {
        HealthState::kFailed,
        fmt::format("its memory has lost data, {} times since the system's start",
                    num_uncorrected_),
        "check the last results, replace the memory if that goes on; after ten minutes without it "
        "the device gets new groups again"};
  }
  if (is_hot_) {
    return {HealthState::kFailed,
            fmt::format("it is at {:.0f} °C, its limit is {:.0f} °C", temperature_c_, limit_c_),
            "check fans and air; it gets new groups again when it is cooler"};
  }
  if (slowed_ns_ && now_ns - *slowed_ns_ < kSlowNs) {
    return {HealthState::kDegraded, "heat slows it down",
            "check fans and air, or give it less to do"};
  }
  return {};
}

}  // namespace sluice::topology
