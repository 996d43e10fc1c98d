// What a daemon and its clients tell each other, as plain data: no wire format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "package/executable.h"
#include "runtime/engine.h"

namespace sluice::service {

/// Identifies a session in lists and logs; never given twice. Whoever acts for one proves it with
/// its token.
enum class SessionId : std::uint64_t {};

/// Owner of what was made without a session: everybody may use and remove it.
inline constexpr SessionId kNobody{0};

/// The other end of a connection. -1 where the transport does not tell.
struct Peer {
  std::string address;
  std::int64_t process = -1;
  std::int64_t user = -1;
  std::int64_t group = -1;
};

struct SessionInfo {
  SessionId id = kNobody;
  std::string client;  ///< what it calls itself
  Peer peer;
  std::int64_t age_ns = 0;
  std::int32_t num_models = 0;
  std::int32_t num_groups = 0;  ///< explicit ones
  std::int32_t num_cores = 0;   ///< of its groups, implicit ones included
  std::int64_t num_in_flight = 0;
};

/// Memory that a session shares with the daemon.
struct RegionInfo {
  std::uint64_t handle = 0;
  std::string name;  ///< of POSIX shared memory; empty for a memfd
  std::int64_t size_bytes = 0;
  bool is_ring = false;
};

struct ModelEntry {
  runtime::ModelInfo info;
  SessionId session = kNobody;
  package::Signature signature;
};

struct GroupEntry {
  runtime::GroupInfo info;
  SessionId session = kNobody;
};

struct ModelHealth {
  std::uint64_t model = 0;
  std::string name;
  runtime::Health health;
};

struct ServerHealth {
  bool is_ready = true;
  std::string reason;  ///< why not
  std::vector<ModelHealth> models;
};

struct Latency {
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
  /// Those of runtime::HistogramBuckets that hold something, in order; empty where nobody needs
  /// them.
  struct Bucket {
    std::int64_t bound_ns = 0;  ///< the least value
    std::int64_t count = 0;
  };
  std::vector<Bucket> buckets = {};
};

struct ModelStatistics {
  std::uint64_t model = 0;
  std::string name;
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::vector<runtime::CodeCount> answered;
  std::int64_t starts = 0;
  std::int64_t busy_ns = 0;
  Latency queue;
  Latency copy;
  Latency compute;
  Latency total;
};

/// Of a group or a device: what its cores did, and what is in its memory.
struct Usage {
  std::uint64_t id = 0;
  std::int32_t num_cores = 0;
  std::int32_t num_reserved_cores = 0;  ///< of groups
  std::int64_t age_ns = 0;              ///< since when the counts are
  std::int64_t core_busy_ns = 0;        ///< kernels' time, times the cores they ran on
  std::vector<runtime::CodeCount> answered;
  std::vector<runtime::MemoryBudget::Item> memory;
  runtime::Health health;
};

/// Of all that the daemon has.
struct ServerStatistics {
  std::vector<ModelStatistics> models;
  std::vector<Usage> groups;
  std::vector<Usage> devices;
};

struct ServerInfo {
  std::string version;
  std::uint32_t protocol_minor = 0;
  std::int64_t process = 0;
  std::int64_t uptime_ns = 0;
  std::string state;  ///< "ready", "draining"
  std::int32_t num_cores = 0;
  std::int32_t num_free_cores = 0;
  std::vector<runtime::Device> devices;
  std::int64_t upload_limit_bytes = 0;
  std::vector<std::string> model_folders;
  std::string side_socket;           ///< where memfds are passed; empty: nowhere
  std::int64_t stream_requests = 0;  ///< most in flight on one stream
};

/// What a load is asked for, but for where the package comes from.
struct LoadOptions {
  std::string name;
  std::optional<runtime::CoreGroupId> group;
  int depth = 0;
  bool flags_nan = false;
  /// Of the group that the load makes; none: the daemon's default. Not with `group`.
  std::optional<runtime::Isolation> isolation;
};

}  // namespace sluice::service
