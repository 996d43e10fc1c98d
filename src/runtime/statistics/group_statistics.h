// Statistics of core groups and devices, over loaded and unloaded models.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/statistics/health.h"
#include "runtime/statistics/model_statistics.h"
#include "terms/server/device_pools.h"
#include "topology/cores/memory_budget.h"

namespace sluice::runtime {

/// Sums the statistics of a group's models. The sum keeps the counts of unloaded models, so
/// counters never fall. Safe across threads; requests do not pass through it.
class GroupStatistics {
 public:
  void add(std::shared_ptr<const ModelStatistics> model);
  /// The model was unloaded: its counts are final.
  void retire(const ModelStatistics& model);
  ModelStatisticsSnapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ModelStatistics>> models_;
  ModelStatisticsSnapshot retired_;
};

/// A snapshot of a group or a device.
struct UsageReport {
  ModelStatisticsSnapshot requests;  ///< of all models so far
  std::int32_t num_cores = 0;
  std::int64_t age_ns = 0;        ///< since the counts began
  std::int64_t core_busy_ns = 0;  ///< time of kernels, multiplied by their number of cores
  /// By category, the largest first: allocated bytes of an own-memory device, else bytes that loads
  /// reserved.
  std::vector<terms::MemoryItem> memory;
  terms::Health health;
};

struct GroupReport : UsageReport {
  terms::CoreGroupId id = {};
  std::int64_t num_switches = 0;  ///< from one model to another
  std::int64_t memory_peak_bytes = 0;
  std::int64_t max_memory_bytes = topology::MemoryBudget::kUnlimited;
};

struct DeviceReport : UsageReport {
  terms::DeviceId id = {};
  std::int32_t num_groups = 0;
  std::int32_t num_reserved_cores = 0;  ///< of groups
  terms::Sensors sensors;
  bool is_placeable = true;                 ///< it gets new groups
  std::optional<terms::DevicePools> pools;  ///< of a device with memory of its own, once it is used
};

}  // namespace sluice::runtime
