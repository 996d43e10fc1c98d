// Counts, latencies and health of models, groups and devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "terms/field.h"
#include "terms/group.h"
#include "terms/server/device_pools.h"
#include "terms/server/sensors.h"

namespace sluice::terms {

/// The number of requests that ended with a runtime code.
struct CodeCount {
  RuntimeCode code = RuntimeCode::kOk;
  std::int64_t count = 0;
};

enum class HealthState : std::uint8_t { kHealthy, kDegraded, kFailed };
std::string_view health_name(HealthState state);

struct Health {
  HealthState state = HealthState::kHealthy;
  std::string reason;  ///< empty if healthy
  std::string action;  ///< to take; empty if none

  SLUICE_FIELDS(reason, action)
};

struct Latency {
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
  /// The non-empty runtime::HistogramBuckets in order; empty if not requested.
  struct Bucket {
    std::int64_t bound_ns = 0;  ///< the least value
    std::int64_t count = 0;
  };
  std::vector<Bucket> buckets = {};

  SLUICE_FIELDS(count, sum_ns, p50_ns, p90_ns, p99_ns, max_ns)
};

/// Runs of so many rows of a model, and their times in all.
struct RunCount {
  std::int64_t rows = 1;  ///< of a joined run, with those that fill it up; 0: of rarer numbers
  std::int64_t count = 0;
  std::int64_t copy_in_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t copy_out_ns = 0;
};

/// Requests of a model that keeps its answers, since its load, and the time that it took to look
/// for them. Requests that an answer was kept for are in no other number.
struct KeptCounts {
  std::int64_t hits = 0;
  std::int64_t hit_ns = 0;
  std::int64_t misses = 0;
  std::int64_t miss_ns = 0;  ///< to keep the answers, too
};

struct ModelStatistics {
  std::uint64_t model = 0;
  std::string name;
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t waiting = 0;      ///< requests beyond the model's slots now
  std::int64_t max_waiting = 0;  ///< the largest `waiting` since the load
  std::vector<CodeCount> answered;
  std::int64_t num_starts = 0;
  std::int64_t busy_ns = 0;
  Latency queue;
  Latency copy;
  Latency compute;
  Latency total;
  std::int64_t recorded_bytes = 0;  ///< kept for shapes of earlier requests, by all slots
  std::int64_t joined = 0;          ///< requests that ran together with others
  // Not told by the daemon's own protocol.
  std::int64_t copy_out_ns = 0;       ///< of `copy.sum_ns`, that of outputs
  std::vector<RunCount> runs = {};    ///< by rows, ascending
  std::int64_t last_run_unix_ms = 0;  ///< when the last run ended; 0: none did
  KeptCounts kept = {};

  SLUICE_FIELDS(accepted, refused, waiting, max_waiting, num_starts, busy_ns, recorded_bytes,
                joined)
};

/// What a daemon found out about a device's hardware. A failed one gets no new groups.
struct DeviceCondition {
  Sensors sensors;
  Health health;
};

/// Activity of the cores and contents of the memory of a group or a device.
struct Usage {
  std::uint64_t id = 0;
  std::int32_t num_cores = 0;
  std::int32_t num_reserved_cores = 0;  ///< of groups
  std::int64_t age_ns = 0;              ///< since when the counts are
  std::int64_t core_busy_ns = 0;        ///< time of kernels, multiplied by their number of cores
  std::vector<CodeCount> answered;
  std::vector<MemoryItem> memory;
  Health health;
  Sensors sensors = {};       ///< of a device
  bool is_withdrawn = false;  ///< of a device: it gets no new group while its hardware is ill
  std::optional<DevicePools> pools = {};  ///< of a device with memory of its own

  SLUICE_FIELDS(id, num_cores, num_reserved_cores, age_ns, core_busy_ns, is_withdrawn)
};

/// Statistics of all that a daemon has.
struct ServerStatistics {
  std::vector<ModelStatistics> models;
  std::vector<Usage> groups;
  std::vector<Usage> devices;
  /// What clients make the daemon's process hold, by kind; together at most `memory_limit_bytes`.
  std::vector<MemoryItem> memory = {};
  std::int64_t memory_limit_bytes = 0;
};

}  // namespace sluice::terms
