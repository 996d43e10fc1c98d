// The health of a model, and the action to take.
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
  std::string action;  ///< to take; empty if none
};

/// Failed: out of service. Degraded: since the load a device was lost, or at least one reply in a
/// hundred was a timeout or a kernel error.
Health health_of(const ModelStatisticsSnapshot& statistics, bool has_failed);

}  // namespace sluice::runtime
