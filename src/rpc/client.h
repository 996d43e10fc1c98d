// A client of sluiced.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rpc/address.h"
#include "rpc/infer_stream.h"
#include "rpc/shared_tensors.h"
#include "service/types.h"

namespace sluice::rpc {

struct ClientOptions {
  std::string address = std::string(kDefaultAddress);
  /// How long a call may wait for the daemon to be there.
  std::int64_t connect_timeout_ns = 5'000'000'000;
  /// Over TCP with TLS: the authority that signed the daemon's certificate, and for mutual TLS our
  /// own. PEM files; empty: no TLS.
  std::string ca = {};
  std::string certificate = {};
  std::string key = {};
  std::string token = {};  ///< over TCP, where the daemon wants one
  /// Over a Unix socket, requests of a session go through a ring in shared memory where they can.
  bool uses_ring = true;
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

  /// From now on all calls are made for a session, which ends with the client. `name`: for lists.
  virtual Result<service::SessionId> open_session(const std::string& name) = 0;

  virtual Result<service::ServerInfo> server() = 0;
  virtual Result<service::ServerHealth> health() = 0;
  virtual Result<std::vector<service::SessionInfo>> list_sessions() = 0;
  virtual Status close_session(service::SessionId session) = 0;

  /// No `isolation`: the daemon's default.
  virtual Result<service::GroupEntry> create_group(
      const runtime::CoreRequest& request, std::optional<runtime::Isolation> isolation = {}) = 0;
  virtual Status destroy_group(std::uint64_t group) = 0;
  virtual Result<std::vector<service::GroupEntry>> list_groups() = 0;

  /// `path`: of the daemon's machine, in one of its model folders.
  virtual Result<service::ModelEntry> load(const service::LoadOptions& options,
                                           const std::string& path) = 0;
  /// Sends the package at `path`, of this machine.
  virtual Result<service::ModelEntry> upload(const service::LoadOptions& options,
                                             const std::string& path) = 0;
  /// What a load would take; `is_upload` as the two above.
  virtual Result<runtime::Footprint> estimate(const service::LoadOptions& options,
                                              const std::string& path, bool is_upload) = 0;
  virtual Status unload(std::uint64_t model, std::int64_t drain_ns = 0) = 0;
  virtual Status start(std::uint64_t model) = 0;
  virtual Status stop(std::uint64_t model, std::int64_t drain_ns = 0) = 0;
  virtual Status reset(std::uint64_t model) = 0;
  /// 0: all.
  virtual Result<std::vector<service::ModelEntry>> list_models(std::uint64_t model = 0) = 0;
  virtual Result<std::vector<service::ModelStatistics>> statistics(std::uint64_t model = 0) = 0;
  virtual Result<service::ServerStatistics> all_statistics() = 0;

  /// Spans of what the daemon does from now on; of the session, if there is one. Its id.
  virtual Result<std::uint64_t> start_profile(const runtime::ProfileWish& wish) = 0;
  virtual Result<runtime::Profile> stop_profile(std::uint64_t profile) = 0;

  /// Memory that the daemon reads and writes where it is, of the session: inputs of `infer` that
  /// lie in it, at offsets that are multiples of 64, are not copied to the daemon. Zeroed. Over a
  /// Unix socket only. Unregister its region when it is not needed any more.
  virtual Result<std::shared_ptr<SharedTensors>> share(std::int64_t size_bytes) = 0;
  /// The same for memory that somebody made with shm_open as `name`. The daemon copies from it.
  virtual Result<std::shared_ptr<SharedTensors>> share(const std::string& name) = 0;
  virtual Status unregister_region(std::uint64_t region) = 0;
  /// The session's.
  virtual Result<std::vector<service::RegionInfo>> list_regions() = 0;

  virtual Result<InferReply> infer(std::uint64_t model, const std::vector<NamedTensor>& inputs,
                                   const InferOptions& options = {}) = 0;
  /// Many requests on one call, in this client's session if it has one. Ends before the client.
  virtual Result<std::unique_ptr<InferStream>> open_stream() = 0;
};

}  // namespace sluice::rpc
