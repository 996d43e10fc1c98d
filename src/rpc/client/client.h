// A client of sluiced.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "rpc/client/infer_stream.h"
#include "rpc/client/shared_tensors.h"
#include "rpc/wire/address.h"
#include "terms/core_request.h"
#include "terms/load.h"
#include "terms/server/profile.h"
#include "terms/server/server.h"
#include "terms/tensors/exchange.h"

namespace sluice::rpc::client {

struct ClientOptions {
  std::string address = std::string(wire::kDefaultAddress);
  /// How long a call may wait for the daemon to be there.
  std::int64_t connect_timeout_ns = 5'000'000'000;
  /// How long a call that changes nothing may wait for its answer, and one about a posted request
  /// beyond the wait that it asks for; 0: for ever.
  std::int64_t answer_timeout_ns = 0;
  /// Over TCP with TLS: the authority that signed the daemon's certificate, and for mutual TLS our
  /// own. PEM files; empty: no TLS.
  std::string ca = {};
  std::string certificate = {};
  std::string key = {};
  std::string token = {};  ///< over TCP, where the daemon wants one
  /// Token of a session that another client has opened, and ends: all calls belong to it.
  std::string session_token = {};
  /// Over a Unix socket, requests of a session go through a ring in shared memory where they can.
  bool uses_ring = true;
};

/// The ring of a stream.
struct RingStreamOptions {
  std::uint32_t num_entries = 1024;  ///< requests in flight; a power of two up to 1024
  /// For the tensors of a request that are not in memory of Client::share; a multiple of 64.
  std::uint64_t entry_bytes = 65536;
  /// Outputs whose size the shapes of the inputs do not tell get what is left of the entry; one
  /// that needs more fails the request. Else the ring does not carry such a request.
  bool takes_unknown_outputs = true;
};

/// Safe from any thread; all calls block. Without a session what is made stays when the client
/// goes, and is everybody's. Every Status carries the RuntimeCode that the daemon sent;
/// kUnavailable if there is no daemon at the address.
class Client {
 public:
  /// Reads the files of `options`; does not wait for the daemon.
  static Result<std::unique_ptr<Client>> create(const ClientOptions& options);
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Ends the session.
  virtual ~Client() = default;

  /// Opens a session for all later calls, which ends with the client. `name` appears in lists.
  virtual Result<terms::SessionId> open_session(const std::string& name) = 0;
  /// Token with which another client joins the session; empty without one.
  virtual const std::string& session_token() const = 0;

  virtual Result<terms::ServerInfo> server() = 0;
  virtual Result<terms::ServerHealth> health() = 0;
  virtual Result<std::vector<terms::SessionInfo>> list_sessions() = 0;
  virtual Status close_session(terms::SessionId session) = 0;

  /// No `isolation`: the daemon's default.
  virtual Result<terms::GroupEntry> create_group(
      const terms::CoreRequest& request, std::optional<terms::Isolation> isolation = {}) = 0;
  virtual Status destroy_group(std::uint64_t group) = 0;
  virtual Result<std::vector<terms::GroupEntry>> list_groups() = 0;

  /// `path`: on the daemon's machine, in one of its model folders. `file_version`: which file this
  /// process sees there; empty: whatever the daemon has. Fails: kNotFound also for another file.
  virtual Result<terms::ModelEntry> load(const terms::LoadOptions& options, const std::string& path,
                                         const std::string& file_version = "") = 0;
  /// Sends the package at `path`, of this machine.
  virtual Result<terms::ModelEntry> upload(const terms::LoadOptions& options,
                                           const std::string& path) = 0;
  /// Sends a package that is in memory.
  virtual Result<terms::ModelEntry> upload(const terms::LoadOptions& options,
                                           const Bytes& package) = 0;
  /// What a load would take; `is_upload` as the first two above.
  virtual Result<terms::Footprint> estimate(const terms::LoadOptions& options,
                                            const std::string& path, bool is_upload) = 0;
  virtual Result<terms::Footprint> estimate(const terms::LoadOptions& options,
                                            const Bytes& package) = 0;
  /// Deploys a graph of functions that are deployed; a model from then on.
  virtual Result<terms::ModelEntry> deploy_graph(const terms::GraphRequest& request) = 0;
  virtual Status unload(std::uint64_t model, std::int64_t drain_ns = 0) = 0;
  virtual Status start(std::uint64_t model) = 0;
  virtual Status stop(std::uint64_t model, std::int64_t drain_ns = 0) = 0;
  virtual Status reset(std::uint64_t model) = 0;
  /// The models that had failed on the device, and are stopped now.
  virtual Result<std::vector<terms::ModelEntry>> reset_device(std::int32_t device) = 0;
  /// 0: all.
  virtual Result<std::vector<terms::ModelEntry>> list_models(std::uint64_t model = 0) = 0;
  virtual Result<std::vector<terms::ModelStatistics>> statistics(std::uint64_t model = 0) = 0;
  virtual Result<terms::ServerStatistics> all_statistics() = 0;

  /// Starts a profile of the daemon, or of the session if the client has one. Returns its id.
  virtual Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings) = 0;
  virtual Result<terms::Profile> stop_profile(std::uint64_t profile) = 0;

  /// Zeroed memory that the session shares with the daemon. Inputs of `infer` inside it, at offsets
  /// that are multiples of 64, are not copied to the daemon. Over a Unix socket only. Unregister
  /// the region after the last use.
  virtual Result<std::shared_ptr<SharedTensors>> share(std::int64_t size_bytes) = 0;
  /// Shares a POSIX shared memory object that the caller created with shm_open as `name`. The
  /// daemon copies tensors from it.
  virtual Result<std::shared_ptr<SharedTensors>> share(const std::string& name) = 0;
  virtual Status unregister_region(std::uint64_t region) = 0;
  /// The session's.
  virtual Result<std::vector<terms::RegionInfo>> list_regions() = 0;

  /// Puts a copy of the tensor into the daemon's exchange, for `ttl_ns` (0: the daemon's default).
  /// Returns its index, which later requests of the session take as an input.
  virtual Result<std::uint64_t> put_tensor(const terms::TensorView& view,
                                           std::int64_t ttl_ns = 0) = 0;
  /// A reply with one output without a name.
  virtual Result<InferReply> get_tensor(std::uint64_t exchange) = 0;
  virtual Status remove_tensor(std::uint64_t exchange) = 0;
  /// Copies the tensor to a device of own memory, where requests read it until it leaves the
  /// exchange. Returns the device that had the tensor; none: the host had it.
  virtual Result<std::optional<terms::DeviceId>> bring_tensor(std::uint64_t exchange,
                                                              terms::DeviceId device) = 0;
  /// Lets daemons of other hosts fetch the tensor: they need its index and this key.
  virtual Result<std::string> offer_tensor(std::uint64_t exchange) = 0;
  /// Has the daemon fetch a tensor that another one offers, and keep the copy for `ttl_ns` (0: the
  /// daemon's default). Fails: kTimeout after `timeout_ns` (0: no limit).
  virtual Result<terms::PulledTensor> pull_tensor(const terms::OfferedTensor& wanted,
                                                  std::int64_t ttl_ns = 0,
                                                  std::int64_t timeout_ns = 0) = 0;

  virtual Result<InferReply> infer(std::uint64_t model,
                                   const std::vector<terms::NamedTensor>& inputs,
                                   const InferOptions& options = {}) = 0;

  /// The daemon keeps the reply for whoever takes it, from any connection of the session. Outputs
  /// have no memory of the caller's. Fails: as infer; kUnimplemented by an older daemon.
  virtual Result<std::uint64_t> post(std::uint64_t model,
                                     const std::vector<terms::NamedTensor>& inputs,
                                     const InferOptions& options) = 0;
  /// `wait_ns`: 0 does not wait, -1 waits without limit. Fails: kPending, also where another call
  /// comes to wait; kInvalidHandle; as the request did.
  virtual Result<InferReply> take_reply(std::uint64_t request, std::int64_t wait_ns) = 0;
  virtual Status cancel_request(std::uint64_t request) = 0;
  /// Many requests on one call, in this client's session if it has one. Ends before the client.
  virtual Result<std::unique_ptr<InferStream>> open_stream() = 0;
  /// The same through a ring in shared memory: many times the rate of small requests. Over a Unix
  /// socket, in a session. `send` blocks while all entries are in flight, and refuses what the ring
  /// cannot carry (docs/protocol.md); replies keep their entry until they are destroyed. `cancel`
  /// needs a daemon of minor version 7, and fails with kResourceExhausted if more than 256 entries
  /// and other cancels fill the ring.
  /// Fails: kFailedPrecondition without a session or a Unix socket; kInvalidArgument for options.
  virtual Result<std::unique_ptr<RingStream>> open_ring_stream(
      const RingStreamOptions& options = {}) = 0;
};

}  // namespace sluice::rpc::client
