// What a daemon does for its clients: sessions, who owns what, what each may use. Knows no wire
// format; rpc translates.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "service/log.h"
#include "service/metrics.h"
#include "service/session.h"

namespace sluice::worker {
class WorkerPool;
}

namespace sluice::service {

struct ServiceOptions {
  std::string version;
  SessionQuota quota;
  /// Packages may be loaded by path from these folders and below. Requires: canonical paths of
  /// folders that only trusted people write to.
  std::vector<std::filesystem::path> model_folders;
  std::int64_t upload_limit_bytes = std::int64_t{4} << 30;
  /// Most requests of one stream in flight, until their answers were sent. Requires: > 0.
  std::int64_t stream_requests = 256;
  /// Of a stop or unload that asks for longer, and of the end of a session.
  std::int64_t drain_limit_ns = 30'000'000'000;
  /// Of groups for which nobody says.
  runtime::Isolation isolation = runtime::Isolation::kStream;
};

/// On whose behalf a call is made.
struct Caller {
  std::shared_ptr<Session> session;  ///< never null; kNobody's for a call without a token
  Peer peer;
};

/// Safe from any thread. Calls that say so block; the others do not. Every Status carries a
/// RuntimeCode.
///
/// Whatever a session makes is its own: other sessions may list it, not use it. What is made
/// without one is everybody's. A session that ends takes all with it, requests in flight included.
class Service {
 public:
  /// `engine` and `log` outlive the service. `devices`: those of the engine.
  Service(runtime::Engine& engine, runtime::DeviceMap devices, ServiceOptions options, Log& log);

  /// As they are now.
  ServiceOptions options() const;
  /// From now on; quotas for sessions that open from now on, a stream's limit for new streams.
  void set_options(ServiceOptions options);
  runtime::Engine& engine() { return engine_; }
  Log& log() { return log_; }
  /// For groups whose models run in processes of their own; without one such groups are refused.
  /// Before anybody calls; outlives the service.
  void set_workers(worker::WorkerPool* workers) { workers_ = workers; }

  ServerInfo server() const;
  ServerHealth health() const;

  // ---- sessions

  /// Fails: kOutOfResources, kUnavailable.
  Result<std::shared_ptr<Session>> open_session(std::string client, Peer peer);
  /// Blocks until all that the session held is free again. Nothing happens the second time.
  void close_session(SessionId id, const Status& reason);
  /// Somebody else's session: that of the same user, or the caller is root or the daemon's user.
  /// Blocks. Fails: kInvalidHandle; kPermissionDenied.
  Status kill_session(const Caller& caller, SessionId id);
  std::vector<SessionInfo> list_sessions() const;
  /// Empty token: nobody's. Fails: kUnauthenticated for a token of no open session.
  Result<Caller> caller_of(std::string_view token, Peer peer) const;

  // ---- groups

  /// Blocks with `isolation` process, until the worker is ready. None: the default.
  Result<GroupEntry> create_group(const Caller& caller, const runtime::CoreRequest& request,
                                  std::optional<runtime::Isolation> isolation = {});
  /// Blocks for as long as threads take to end.
  Status destroy_group(const Caller& caller, runtime::CoreGroupId group);
  std::vector<GroupEntry> list_groups() const;

  // ---- models

  /// Blocks. `path`: of the server, or empty if `executable` is the package, which is in the file
  /// `package_fd`.
  /// Fails: as Engine::load; kPermissionDenied for a path outside of the model folders or the group
  ///        of another session; kOutOfResources over the session's quota.
  Result<ModelEntry> load(const Caller& caller, const LoadOptions& options,
                          const std::filesystem::path& path,
                          std::shared_ptr<const package::Executable> executable,
                          int package_fd = -1);
  /// As load, but nothing is loaded. Blocks.
  Result<runtime::Footprint> estimate(const LoadOptions& options, const std::filesystem::path& path,
                                      std::shared_ptr<const package::Executable> executable);
  Status start(const Caller& caller, runtime::ModelHandle model);
  /// Blocks, up to `drain_ns` and the time a stage takes.
  Status stop(const Caller& caller, runtime::ModelHandle model, std::int64_t drain_ns);
  /// As stop.
  Status unload(const Caller& caller, runtime::ModelHandle model, std::int64_t drain_ns);
  /// Blocks.
  Status reset(const Caller& caller, runtime::ModelHandle model);
  /// All, or the one with this handle. Fails: kInvalidHandle.
  Result<std::vector<ModelEntry>> list_models(std::uint64_t model) const;
  Result<std::vector<ModelStatistics>> statistics(std::uint64_t model) const;
  ServerStatistics all_statistics() const;
  Metrics metrics() const;

  // ---- shared memory: all of it belongs to a session

  /// Where clients pass memfds, for `server`. Before anybody calls.
  void set_side_socket(std::string path) { side_socket_ = std::move(path); }
  /// The memory of a memfd; `fd` stays the caller's.
  /// Fails: as Region::adopt; kFailed without a session; kOutOfResources over its quota.
  Result<std::uint64_t> register_memory(const Caller& caller, int fd, std::uint64_t size_bytes);
  /// The same, with a ring in it that is served from now on. Fails: as RingServer::create, too.
  Result<std::uint64_t> register_ring(const Caller& caller, int fd, std::uint64_t size_bytes);
  /// POSIX shared memory of the caller's user. Fails: as Region::open; kPermissionDenied for a
  /// caller on another machine; else as register_memory.
  Result<RegionInfo> register_name(const Caller& caller, const std::string& name);
  /// Requests in flight keep the memory; a ring ends. Blocks. Fails: kInvalidHandle.
  Status unregister_region(const Caller& caller, std::uint64_t handle);
  std::vector<RegionInfo> list_regions(const Caller& caller) const;
  /// By input, whether requests may have the model read it in shared memory itself. Null: none.
  std::shared_ptr<const std::vector<bool>> in_place_inputs(runtime::ModelHandle model) const;

  // ---- inference

  /// Where the caller's requests for a model go. Fails: kInvalidHandle, kPermissionDenied,
  /// kUnavailable while shutting down.
  Result<std::shared_ptr<runtime::RequestSink>> find_model(const Caller& caller,
                                                           runtime::ModelHandle model) const;
  /// As RequestSink::submit, counted for the caller's session.
  Result<std::uint64_t> submit(const Caller& caller, runtime::RequestSink& sink,
                               runtime::Request& request) const;

  // ---- profiles: of all that the daemon does, whoever asked for it

  /// For the caller's session, with which it goes. Fails: as Engine::start_profile; kUnavailable.
  Result<std::uint64_t> start_profile(const Caller& caller, const runtime::ProfileWish& wish);
  /// Fails: kInvalidHandle; kPermissionDenied.
  Result<runtime::Profile> stop_profile(const Caller& caller, std::uint64_t profile);

  /// Not ready from now on: nothing new is taken, what is in flight goes on.
  void start_draining();
  /// Ends all sessions and the engine; requests in flight have `drain_ns`. Blocks.
  void shutdown(std::int64_t drain_ns);

 private:
  using Owners = std::map<std::uint64_t, SessionId>;
  using InPlaceInputs = std::shared_ptr<const std::vector<bool>>;

  Status check_ready() const;
  runtime::ModelHost& host_of(runtime::ModelHandle model) const;
  Result<runtime::ModelHost*> host_for(const LoadOptions& options) const;
  Status check_workers() const;
  Status destroy(runtime::CoreGroupId group);
  std::vector<runtime::ModelInfo> all_models() const;
  std::vector<runtime::GroupInfo> all_groups() const;
  Status check_owner(const Owners& owners, std::uint64_t handle, const Caller& caller,
                     std::string_view what) const;
  Status check_model(const Caller& caller, runtime::ModelHandle model) const;
  Result<runtime::LoadRequest> load_request(
      const LoadOptions& options, const std::filesystem::path& path,
      std::shared_ptr<const package::Executable> executable) const;
  Result<ModelEntry> enter_model(const Caller& caller, runtime::ModelHandle model);
  Result<ModelEntry> entry_of(runtime::ModelInfo info) const;
  SessionId owner(const Owners& owners, std::uint64_t handle) const;
  void forget_model(runtime::ModelHandle model, const runtime::ModelInfo& info,
                    const Caller& caller);
  Result<std::uint64_t> add_region(const Caller& caller, std::shared_ptr<shm::Region> region);
  void reclaim(const std::shared_ptr<Session>& session, const Status& reason);
  void drop_profiles(SessionId session);
  std::int64_t drain_deadline_ns(std::int64_t drain_ns) const;

  runtime::Engine& engine_;
  worker::WorkerPool* workers_ = nullptr;
  const runtime::DeviceMap devices_;
  mutable std::mutex options_mutex_;
  ServiceOptions options_;
  Log& log_;
  const std::int64_t started_ns_;
  std::atomic<bool> is_draining_ = false;
  SessionTable sessions_;
  std::shared_ptr<Session> nobody_;
  mutable std::shared_mutex owners_mutex_;
  Owners model_owners_;
  Owners group_owners_;
  Owners profile_owners_;
  std::map<std::uint64_t, InPlaceInputs> in_place_inputs_;  ///< of model_owners_
  std::atomic<std::uint64_t> next_region_ = 1;
  std::string side_socket_;
};

}  // namespace sluice::service
