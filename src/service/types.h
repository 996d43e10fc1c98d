// Data that a daemon and its clients exchange, independent of the wire format.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/system/descriptors.h"
#include "package/executable.h"
#include "runtime/engine.h"
#include "sandbox/exchange_table.h"
#include "sandbox/function.h"
#include "sandbox/graph/graph_host.h"
#include "service/clients/peer.h"
#include "topology/cores/core_groups.h"

namespace sluice::service {

/// Identifies a session in lists and logs; never given twice. A client that acts for a session
/// sends the session's token.
enum class SessionId : std::uint64_t {};

/// Owner of objects without a session: every client may use them.
inline constexpr SessionId kNobody{0};

struct SessionInfo {
  SessionId id = kNobody;
  std::string client;  ///< what it calls itself
  Peer peer;
  std::int64_t age_ns = 0;
  std::int32_t num_models = 0;
  std::int32_t num_groups = 0;  ///< explicit ones
  std::int32_t num_cores = 0;   ///< of its groups; an implicit one counts for the load that made it
  std::int64_t num_in_flight = 0;
  std::int64_t num_ring_requests = 0;  ///< that came through its rings so far
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
  std::optional<sandbox::FunctionState> function = {};  ///< of a model that is a function
  std::optional<sandbox::GraphState> graph = {};        ///< of one that is a graph of functions
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
  DescriptorUse descriptors = {};
  std::int64_t num_refused_connections = 0;  ///< since the start
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
};

struct ModelStatistics {
  std::uint64_t model = 0;
  std::string name;
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t waiting = 0;      ///< requests beyond the model's slots now
  std::int64_t max_waiting = 0;  ///< the largest `waiting` since the load
  std::vector<runtime::CodeCount> answered;
  std::int64_t starts = 0;
  std::int64_t busy_ns = 0;
  Latency queue;
  Latency copy;
  Latency compute;
  Latency total;
  std::int64_t recorded_bytes = 0;  ///< kept for shapes of earlier requests, by all slots
  std::int64_t joined = 0;          ///< requests that ran together with others
};

/// Activity of the cores and contents of the memory of a group or a device.
struct Usage {
  std::uint64_t id = 0;
  std::int32_t num_cores = 0;
  std::int32_t num_reserved_cores = 0;  ///< of groups
  std::int64_t age_ns = 0;              ///< since when the counts are
  std::int64_t core_busy_ns = 0;        ///< time of kernels, multiplied by their number of cores
  std::vector<runtime::CodeCount> answered;
  std::vector<topology::MemoryBudget::Item> memory;
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
  std::vector<topology::Device> devices;
  std::int64_t max_upload_bytes = 0;
  std::vector<std::string> model_folders;
  std::string side_socket;           ///< where memfds are passed; empty: nowhere
  std::int64_t stream_requests = 0;  ///< most in flight on one stream
  std::string account = {};          ///< the caller's
  Roles roles = {};                  ///< the caller's
};

/// A tensor that a daemon of another host offers.
struct OfferedTensor {
  std::string address;  ///< where that daemon serves other daemons
  std::uint64_t exchange = 0;
  std::string key;
};

/// Its copy here.
struct PulledTensor {
  sandbox::TensorIndex index = {};
  exec::TensorView view;  ///< without data
};

/// Reads a tensor from its daemon. Calls `take_room` with the size before it allocates, and returns
/// its error. Blocks; ends soon after a stop is requested. Safe from any thread.
using TakeRoom = std::function<Status(std::int64_t bytes)>;
using FetchTensor = std::function<Result<runtime::OutputTensor>(
    const OfferedTensor& wanted, const TakeRoom& take_room, const std::stop_token& stop)>;

/// Options of a load. The package is a separate argument.
struct ModelOptions {
  std::string name;
  std::optional<topology::CoreGroupId> group;
  int depth = 0;
  std::optional<int> max_waiting;  ///< as runtime::LoadRequest; the protocol says queue_limit
  bool flags_nan = false;
  int weight = 1;  ///< share of the cores, where models take turns
  std::optional<std::int64_t> max_recorded_bytes = {};  ///< as runtime::LoadRequest
  std::optional<runtime::BatchOptions> batching = {};   ///< none: every request runs alone
  /// Of the group that the load makes; none: the daemon's default. Not with `group`.
  std::optional<runtime::Isolation> isolation;
  /// Deploys a function: `depth` is its concurrency. Not with a group. Isolation "process": in a
  /// cell.
  std::optional<sandbox::FunctionOptions> function = {};
  std::optional<std::uint64_t> seed = {};  ///< of random operators
};

}  // namespace sluice::service
