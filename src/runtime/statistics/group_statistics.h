// What core groups and devices did and hold: of the models on them, and of those that left.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/statistics/health.h"
#include "runtime/statistics/model_statistics.h"
#include "runtime/topology/core_groups.h"

namespace sluice::runtime {

/// Adds up the statistics of a group's models. A model that leaves leaves its numbers here, so that
/// counters never fall. Safe across threads; nothing of it is on a request's way.
class GroupStatistics {
 public:
  void add(std::shared_ptr<const ModelStatistics> model);
  /// The model does nothing more.
  void retire(const ModelStatistics& model);
  ModelStatisticsSnapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ModelStatistics>> models_;
  ModelStatisticsSnapshot retired_;
};

/// At one moment. What is the same for a group and a device.
struct UsageReport {
  ModelStatisticsSnapshot requests;  ///< of all models so far
  std::int32_t num_cores = 0;
  std::int64_t age_ns = 0;        ///< since when that is
  std::int64_t core_busy_ns = 0;  ///< kernels' time, times the cores they ran on
  /// By category, most first. Of a device with memory of its own: what is allocated there; else
  /// what the loads of models reserved.
  std::vector<MemoryBudget::Item> memory;
  Health health;

  /// Share of the cores' time in which kernels ran.
  double utilisation() const;
};

struct GroupReport : UsageReport {
  CoreGroupId id = {};
  std::int64_t num_switches = 0;  ///< from one model to another
  std::int64_t memory_peak_bytes = 0;
  std::int64_t memory_limit_bytes = MemoryBudget::kUnlimited;
};

struct DeviceReport : UsageReport {
  DeviceId id = {};
  std::int32_t num_groups = 0;
  std::int32_t num_reserved_cores = 0;  ///< of groups
};

}  // namespace sluice::runtime
