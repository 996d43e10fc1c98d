// The metrics of a daemon for monitoring systems.
#pragma once

#include <cstdint>
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
  DescriptorUse descriptors;
  std::int64_t num_refused_connections = 0;
  std::int64_t num_huge_pages = 0;  ///< of 2 MiB, reserved
  std::int64_t num_huge_pages_taken = 0;
  std::vector<SessionInfo> sessions;
  std::vector<ModelMetrics> models;
  std::vector<runtime::GroupReport> groups;
  std::vector<runtime::DeviceReport> devices;
  struct Worker {
    topology::CoreGroupId group = {};
    runtime::WorkerInfo info;
  };
  std::vector<Worker> workers;  ///< of the groups that have one
};

}  // namespace sluice::service
