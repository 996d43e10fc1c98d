// A daemon, its sessions, and what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/system/descriptors.h"
#include "terms/field.h"
#include "terms/function.h"
#include "terms/graph.h"
#include "terms/model.h"
#include "terms/server/roles.h"
#include "terms/server/statistics.h"
#include "terms/tensors/signature.h"

namespace sluice::terms {

/// Identifies a session in lists and logs; never given twice. A client that acts for a session
/// sends the session's token.
enum class SessionId : std::uint64_t {};

/// Owner of objects without a session: every client may use them.
inline constexpr SessionId kNobody{0};

/// The other end of a connection. -1 where the transport does not tell.
struct Peer {
  std::string address;
  std::int64_t process = -1;
  std::int64_t user = -1;
  std::int64_t group = -1;
  std::vector<std::int64_t> more_groups = {};  ///< that the user is in besides
  std::string token = {};  ///< name of the token that the call brought; empty: none
  Roles token_roles = {};  ///< of that token
  /// Common name of the certificate with which another daemon proved who it is; empty: none.
  std::string certificate = {};

  SLUICE_FIELDS(address, process, user, group)
  bool is_local() const { return user >= 0; }
};

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

  SLUICE_FIELDS(client, age_ns, num_models, num_groups, num_cores, num_in_flight, num_ring_requests)
};

struct ModelEntry {
  ModelInfo info;
  SessionId session = kNobody;
  Signature signature;
  std::optional<FunctionState> function = {};  ///< of a model that is a function
  std::optional<GraphState> graph = {};        ///< of one that is a graph of functions
  std::int64_t version = 1;  ///< among the models of a repository that have its name
};

struct GroupEntry {
  GroupInfo info;
  SessionId session = kNobody;
};

struct ModelHealth {
  std::uint64_t model = 0;
  std::string name;
  Health health;
};

struct DeviceHealth {
  DeviceId device = {};
  Health health;
};

struct ServerHealth {
  bool is_ready = true;
  std::string reason;  ///< why not
  std::vector<ModelHealth> models;
  std::vector<DeviceHealth> devices = {};
  DescriptorUse descriptors = {};
  std::int64_t num_refused_connections = 0;  ///< since the start

  SLUICE_FIELDS(is_ready, reason, num_refused_connections)
};

struct ServerInfo {
  std::string version;
  std::uint32_t protocol_minor = 0;
  std::int64_t process = 0;
  std::int64_t uptime_ns = 0;
  std::string state;  ///< "ready", "draining"
  std::int32_t num_cores = 0;
  std::int32_t num_free_cores = 0;
  std::vector<Device> devices;
  std::int64_t max_upload_bytes = 0;
  std::vector<std::string> model_folders;
  std::string side_socket;           ///< where memfds are passed; empty: nowhere
  std::int64_t stream_requests = 0;  ///< most in flight on one stream
  std::string account = {};          ///< the caller's
  Roles roles = {};                  ///< the caller's

  SLUICE_FIELDS(version, protocol_minor, process, uptime_ns, state, num_cores, num_free_cores,
                max_upload_bytes, stream_requests, side_socket, account)
};

}  // namespace sluice::terms
