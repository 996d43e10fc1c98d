// The metrics of a daemon for monitoring systems.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/statistics/group_statistics.h"
#include "telemetry/span_exporter.h"
#include "telemetry/telemetry.h"
#include "terms/server/server.h"
#include "terms/server/statistics.h"

namespace sluice::service {

struct ModelMetrics {
  terms::ModelInfo info;
  runtime::ModelStatisticsSnapshot requests;
  std::int64_t version = 1;  ///< as terms::ModelEntry
  terms::KeptCounts kept = {};
};

/// At about one moment: each part is taken by itself.
struct Metrics {
  terms::ServerInfo server;
  double load = 0;  ///< as Service::load
  DescriptorUse descriptors;
  std::int64_t num_refused_connections = 0;
  std::int64_t num_huge_pages = 0;  ///< of 2 MiB, reserved
  std::int64_t num_huge_pages_taken = 0;
  std::vector<terms::SessionInfo> sessions;
  std::vector<terms::MemoryItem> memory;              ///< ClientMemory::by_kind
  std::vector<terms::MemoryItem> memory_of_accounts;  ///< ClientMemory::by_account
  std::int64_t memory_limit_bytes = 0;
  std::vector<ModelMetrics> models;
  std::vector<runtime::GroupReport> groups;
  std::vector<runtime::DeviceReport> devices;
  struct Worker {
    terms::CoreGroupId group = {};
    terms::WorkerInfo info;
  };
  std::vector<Worker> workers;                           ///< of the groups that have one
  std::optional<telemetry::SpanExporter::Counts> spans;  ///< of a daemon with a collector
  telemetry::Exemplars exemplars;
  std::optional<std::int64_t> lost_access_lines;  ///< of one with an access log
};

}  // namespace sluice::service
