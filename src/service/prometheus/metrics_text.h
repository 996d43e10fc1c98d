// A daemon's metrics in the formats of Prometheus.
#pragma once

#include <string>

#include "service/metrics.h"
#include "service/prometheus/text.h"

namespace sluice::service {

/// docs/daemon.md has the names of the metrics.
void add_metrics(const Metrics& metrics, PrometheusText& text);
/// The same as a whole answer.
std::string to_prometheus(const Metrics& metrics, MetricsForm form = MetricsForm::kText);

}  // namespace sluice::service
