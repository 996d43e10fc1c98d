// The metrics of a daemon for monitoring systems.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/statistics/group_statistics.h"
#include "terms/server/server.h"

namespace sluice::service {

struct ModelMetrics {
  terms::ModelInfo info;
  runtime::ModelStatisticsSnapshot requests;
  std::int64_t version = 1;  ///< as terms::ModelEntry
};

/// At about one moment: each part is taken by itself.
struct Metrics {
  terms::ServerInfo server;
  DescriptorUse descriptors;
  std::int64_t num_refused_connections = 0;
  std::int64_t num_huge_pages = 0;  ///< of 2 MiB, reserved
  std::int64_t num_huge_pages_taken = 0;
  std::vector<terms::SessionInfo> sessions;
  std::vector<ModelMetrics> models;
  std::vector<runtime::GroupReport> groups;
  std::vector<runtime::DeviceReport> devices;
  struct Worker {
    terms::CoreGroupId group = {};
    terms::WorkerInfo info;
  };
  std::vector<Worker> workers;  ///< of the groups that have one
};

}  // namespace sluice::service
