// The health of a model, and the action to take.
#pragma once

#include "runtime/statistics/model_statistics.h"

namespace sluice::runtime {

/// Failed: out of service. Degraded: since the load a device was lost, or at least one reply in a
/// hundred was a timeout or a kernel error.
terms::Health health_of(const ModelStatisticsSnapshot& statistics, bool has_failed);

/// The one that needs attention more; the second of two alike.
terms::Health worse(terms::Health requests, terms::Health hardware);

}  // namespace sluice::runtime
