// How a model is, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/statistics/model_statistics.h"

namespace sluice::runtime {

enum class HealthState : std::uint8_t { kHealthy, kDegraded, kFailed };
std::string_view health_name(HealthState state);

struct Health {
  HealthState state = HealthState::kHealthy;
  std::string reason;  ///< empty if healthy
  std::string action;  ///< what to do; empty if nothing
};

/// Failed: out of service. Degraded: since the load a device was lost, or one answer in a hundred
/// and more was a time-out or an error of a kernel.
Health health_of(const ModelStatisticsSnapshot& statistics, bool has_failed);

}  // namespace sluice::runtime
