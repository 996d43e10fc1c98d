// What a daemon tells those who watch it over time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/types.h"

namespace sluice::service {

struct ModelMetrics {
  runtime::ModelInfo info;
  runtime::ModelStatisticsSnapshot requests;
};

/// At about one moment: each part is taken by itself.
struct Metrics {
  ServerInfo server;
  std::int64_t num_huge_pages = 0;  ///< of 2 MiB, reserved
  std::int64_t num_huge_pages_taken = 0;
  std::vector<SessionInfo> sessions;
  std::vector<ModelMetrics> models;
  std::vector<runtime::GroupReport> groups;
  std::vector<runtime::DeviceReport> devices;
  struct Worker {
    runtime::CoreGroupId group = {};
    runtime::WorkerInfo info;
  };
  std::vector<Worker> workers;  ///< of the groups that have one
};

/// In the text format of Prometheus (prometheus.h); docs/daemon.md has the names.
std::string to_prometheus(const Metrics& metrics);

}  // namespace sluice::service
