#include "terms/server/statistics.h"

namespace sluice::terms {

std::string_view health_name(HealthState state) {
  switch (state) {
    case HealthState::kHealthy: return "healthy";
    case HealthState::kDegraded: return "degraded";
    case HealthState::kFailed: break;
  }
  return "failed";
}

}  // namespace sluice::terms
