// A daemon's metrics in the text format of Prometheus.
#pragma once

#include <string>

#include "service/metrics.h"

namespace sluice::service {

/// docs/daemon.md has the names of the metrics.
std::string to_prometheus(const Metrics& metrics);

}  // namespace sluice::service
