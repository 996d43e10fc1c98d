#include "topology/sensors/hardware_health.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/text/plural.h"

namespace sluice::topology {
namespace {

using terms::HealthState;

/// Whether the counter has grown since its last value, which `now` becomes. Its first value tells
/// nothing; a driver that starts anew begins at 0.
bool has_grown(std::optional<std::int64_t>& last, const std::optional<std::int64_t>& now) {
  if (!now) return false;
  const auto before = std::exchange(last, now);
  return before && *before < *now;
}

std::string lost_data(std::int64_t num_errors) {
  return fmt::format("its memory has lost data; {} {} not corrected so far",
                     counted(num_errors, "error"), num_errors == 1 ? "was" : "were");
}

}  // namespace

terms::Health HardwareHealth::judge(const terms::Sensors& now, std::int64_t now_ns) {
  if (has_grown(num_uncorrected_, now.num_uncorrected_errors)) lost_data_ns_ = now_ns;
  const bool was_slowed = has_grown(num_throttles_, now.num_throttles);
  if (now.is_slowed || was_slowed) slowed_ns_ = now_ns;
  if (now.temperature_c && now.temperature_limit_c) {
    temperature_c_ = *now.temperature_c;
    limit_c_ = *now.temperature_limit_c;
    is_hot_ = temperature_c_ >= limit_c_ - (is_hot_ ? kCoolerBy : 0);
    num_blind_ = 0;
  } else if (is_hot_ && ++num_blind_ >= kBlindLooks) {
    is_hot_ = false;
  }
  if (!now.fault.empty()) {
    return {
        HealthState::kFailed, fmt::format("its driver says \"{}\"", now.fault),
        "reset the device or restart the machine; it gets new groups when its driver has it again"};
  }
  if (lost_data_ns_ && now_ns - *lost_data_ns_ < kQuietNs) {
    return {
        HealthState::kFailed, lost_data(num_uncorrected_.value_or(0)),
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
