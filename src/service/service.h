// The daemon's service for its clients: sessions, ownership and access. It knows no wire format;
// rpc translates.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "base/system/watchdog.h"
#include "runtime/host_directory.h"
#include "sandbox/exchange.h"
#include "sandbox/function_host.h"
#include "sandbox/graph/graph_host.h"
#include "sandbox/programs/program_host.h"
#include "service/balance/load_meter.h"
#include "service/client_session.h"
#include "service/clients/access.h"
#include "service/clients/client_memory.h"
#include "service/log.h"
#include "service/metrics.h"
#include "service/packages/upload.h"
#include "service/replies/kept_replies.h"
#include "service/table/model_table.h"
#include "telemetry/telemetry.h"
#include "terms/core_request.h"
#include "terms/load.h"
#include "terms/server/profile.h"
#include "topology/map/device_map.h"

namespace sluice::runtime {
class Engine;
}
namespace sluice::worker {
class WorkerPool;
}

namespace sluice::service {

class PostedReplies;

struct ServiceOptions {
  std::string version;
  SessionQuota quota;
  /// Packages may be loaded by path from these folders and below. Requires: canonical paths of
  /// folders that only trusted people write to.
  std::vector<std::filesystem::path> model_folders;
  /// Folders of programs that clients may deploy, which run as the workers do; empty: no client
  /// may.
  std::vector<std::filesystem::path> program_folders = {};
  std::int64_t max_upload_bytes = std::int64_t{4} << 30;
  /// An upload whose client sends nothing for so long ends.
  std::int64_t upload_idle_ns = 30'000'000'000;
  /// Clients without a session may only look.
  bool requires_session = false;
  /// Which clients may do what; none: all may do everything.
  std::vector<RoleRule> roles = {};
  /// Maximum requests of one stream in flight, until their answers were sent. Requires: > 0.
  std::int64_t stream_requests = 256;
  /// Maximum bytes of answers of one stream that wait until its client reads them. A stream over
  /// its limit computes nothing more until the client reads; a single answer may be larger.
  std::int64_t stream_answer_bytes = std::int64_t{256} << 20;
  MemoryLimits memory = {};
  /// Limit of a stop or unload that asks for longer, and of the end of a session.
  std::int64_t drain_limit_ns = 30'000'000'000;
  /// Limit of a run of a model or function whose load sets none; 0: no limit.
  std::int64_t max_run_ns = 0;
  /// How long a computation of the daemon's own process may outlive the drain of a stop or an
  /// unload, or that of the shutdown, until `on_hang` is told; 0: for ever.
  std::int64_t hang_limit_ns = 0;
  /// Models without a group share cores and take turns when all cores are in use.
  bool shares_cores = true;
  /// Bytes of replies that models with DeclaredModel::keeps_replies keep, all together; 0: no model
  /// keeps any.
  std::int64_t kept_reply_bytes = std::int64_t{64} << 20;
  /// Isolation of core groups that name none.
  terms::Isolation isolation = terms::Isolation::kStream;
  /// Groups, models and functions of clients that are no administrators have workers by default.
  bool isolates_others = false;
  sandbox::FunctionHostOptions functions = {};
  sandbox::ExchangeOptions exchange = {};
  /// Daemons of other hosts that may fetch what clients offer; none: nobody.
  std::vector<ExchangePeer> exchange_peers = {};
  /// Addresses of daemons from which clients may have tensors fetched.
  std::vector<std::string> exchange_sources = {};
  /// Number of the user whose shared memory clients over loopback may register, who are no user to
  /// the system; -1: none.
  std::int64_t loopback_user = -1;
};

/// The client on whose behalf a call is made.
struct Caller {
  std::shared_ptr<ClientSession> session;  ///< never null; kNobody's for a call without a token
  terms::Peer peer;
};

/// A package that a client names by its place.
struct PackageFile {
  std::filesystem::path path = {};  ///< of the server
  std::string version = {};         ///< `file_version` as the client sees it; empty: any
};

/// A model, function or graph that a client made without a session and without a group: what a
/// daemon needs to make it again.
struct Deployment {
  terms::LoadOptions options = {};
  std::filesystem::path path = {};  ///< of the package, as the client named it; empty for
  std::shared_ptr<const package::Executable> executable = nullptr;  ///< an upload,
  int package_fd = -1;                                              ///< which is in this file
  std::optional<terms::GraphRequest> graph = {};  ///< a graph of functions, without a package
  terms::Peer by = {};
};

/// Called from any thread, several at a time.
struct DeploymentEvents {
  /// The files are borrowed for the call. Its error undoes the deployment.
  std::function<Status(terms::ModelHandle, const Deployment&)> on_deploy;
  std::function<void(terms::ModelHandle)> on_remove;  ///< of any model
};

/// Nodes are models by their names.
struct OwnGraph {
  terms::GraphRequest request = {};
  sandbox::GraphPlan plan = {};
};

/// A model that the daemon loads for all clients: from any folder, for nobody, without an event.
struct OwnModel {
  terms::LoadOptions options = {};
  std::filesystem::path path = {};  ///< of the package; empty if `executable` is the package,
  std::shared_ptr<const package::Executable> executable = nullptr;
  int package_fd = -1;          ///< which is in this file
  std::int32_t most_cores = 0;  ///< bounds a model that takes all free cores; 0: no bound
  std::int64_t version = 1;
  std::shared_ptr<const terms::DeclaredModel> declared = nullptr;  ///< may be null
  /// Called with the model before a client can find it, on the loading thread; its error unloads
  /// the model. May be empty.
  std::function<Status(const dispatch::ModelRef&)> prepare = {};
  /// A graph of other models, as GraphHost::add, in place of a package.
  std::optional<OwnGraph> graph = {};
};

/// What a request needs of the service.
struct Admission {
  Caller caller;
  std::shared_ptr<dispatch::ModelRef> model;
  dispatch::RequestLimits limits;
  std::shared_ptr<telemetry::Observation> observation = {};  ///< null: nobody observes it
};

/// Safe from any thread. Calls that say so block; the others do not. Every Status carries a
/// RuntimeCode.
///
/// Objects that a session creates belong to it: other sessions may list them but not use them.
/// Objects created without a session are public; models and groups among them are controlled and
/// removed by clients of the same account, and by administrators. The end of a session removes all
/// its objects and cancels its requests in flight.
///
/// A door, such as gRPC or the side socket, gets a Caller from caller_of, which asks for the role
/// that the door's call needs. No call can be made without one.
class Service {
 public:
  /// `engine` and `log` outlive the service. `devices`: those of the engine.
  Service(runtime::Engine& engine, topology::DeviceMap devices, ServiceOptions options, Log& log);

  /// As they are now.
  ServiceOptions options() const;
  /// From now on; quotas for sessions that open from now on, a stream's limit for new streams.
  void set_options(ServiceOptions options);
  runtime::Engine& engine() { return engine_; }
  Log& log() { return log_; }
  /// Doors begin an observation there for each request that they take.
  telemetry::Telemetry& telemetry() const { return *telemetry_; }
  /// Sets the pool for groups and functions with isolation `process`; without a pool the service
  /// refuses such groups and functions. Called before all other functions; the pool outlives the
  /// service.
  void set_workers(worker::WorkerPool* workers);
  /// Sets the host of programs that serve functions, as set_workers.
  void set_programs(sandbox::ProgramHost& programs);

  /// Told from another thread what does not end. Before clients call.
  void set_on_hang(std::function<void(const std::string& what)> on_hang) {
    on_hang_ = std::move(on_hang);
  }
  /// Fetches tensors of other hosts for pull_tensor. Before clients call.
  void set_fetch(terms::FetchTensor fetch) { fetch_ = std::move(fetch); }
  /// Before clients call.
  void set_deployment_events(DeploymentEvents events) { events_ = std::move(events); }

  /// Not ready, as `health` says it, while the daemon loads its models. Requests to those that are
  /// loaded are answered.
  void set_preparing(bool is_preparing) { is_preparing_ = is_preparing; }

  /// Not ready from now on, as `health` says it, so that balancers choose other daemons. Requests,
  /// loads and sessions are taken until `start_draining`.
  void announce_drain() { is_leaving_ = true; }

  terms::ServerInfo server() const;
  /// With the account and the roles of the caller.
  terms::ServerInfo server(const Caller& caller) const;
  terms::ServerHealth health() const;
  /// Whether requests are taken: the same without a look at models and descriptors.
  bool is_ready() const { return !is_leaving_ && !is_preparing_; }
  LoadReport load_report() const;
  /// From 0 to 1: of the report.
  double load() const { return load_report().utilization; }

  // ---- sessions

  /// Fails: kOutOfResources, kUnavailable.
  Result<std::shared_ptr<ClientSession>> open_session(std::string client, terms::Peer peer);
  /// Blocks until all that the session held is free again. Nothing happens the second time.
  void close_session(terms::SessionId id, const Status& reason);
  /// Somebody else's session: one of the same account, or the caller is an administrator.
  /// Blocks. Fails: kInvalidHandle; kPermissionDenied.
  Status kill_session(const Caller& caller, terms::SessionId id);
  std::vector<terms::SessionInfo> list_sessions() const;
  /// Empty token: nobody's. `role`: of the call that is made.
  /// Fails: kPermissionDenied without the role; kUnauthenticated for a token of no open session.
  Result<Caller> caller_of(terms::Role role, std::string_view token, terms::Peer peer) const;
  /// As caller_of, for doors that need no session. Fails: kPermissionDenied.
  Status authorize(const terms::Peer& peer, terms::Role role) const {
    return access_.check(peer, role);
  }
  terms::Roles roles_of(const terms::Peer& peer) const { return access_.roles_of(peer); }

  // ---- groups

  /// Blocks with `isolation` process, until the worker is ready. None: the default.
  Result<terms::GroupEntry> create_group(const Caller& caller, const terms::CoreRequest& request,
                                         std::optional<terms::Isolation> isolation = {});
  /// Blocks until the group's threads have ended.
  Status destroy_group(const Caller& caller, terms::CoreGroupId group);
  std::vector<terms::GroupEntry> list_groups() const;

  // ---- models

  /// Deploys a function if `options.function` is set, and loads the model otherwise. Start, stop
  /// and unload of a function make it warm, make it cold and remove it (FunctionHost).
  ///
  /// Blocks. `file`: empty if `executable` is the package, which is in the file `package_fd`.
  /// Fails: as Engine::load; kNotFound for another file than the client's; kPermissionDenied for a
  ///        path outside of the model folders or the group of another session; kOutOfResources over
  ///        the session's quota.
  Result<terms::ModelEntry> load(const Caller& caller, const terms::LoadOptions& options,
                                 const PackageFile& file,
                                 std::shared_ptr<const package::Executable> executable,
                                 int package_fd = -1);
  /// Deploys a graph of functions, which is a model from now on. Its functions cannot be removed
  /// before it.
  /// Fails: as GraphHost::deploy; kPermissionDenied for a function that the caller may not remove;
  ///        kOutOfResources over the session's quota.
  Result<terms::ModelEntry> deploy_graph(const Caller& caller, terms::GraphRequest request);
  /// The public model of this name as a step of an OwnGraph. Fails: as ModelByName::find.
  Result<std::shared_ptr<runtime::RequestSink>> step_of(const std::string& name,
                                                        std::optional<std::int64_t> version) const;
  /// A model that an ensemble needs, itself or for one of its models, and that is not served, was
  /// stopped or has failed.
  std::optional<std::string> missing_step(terms::ModelHandle model) const;
  /// For the daemon itself. Blocks. Fails: as load and OwnModel::prepare.
  Result<terms::ModelEntry> load_own(const OwnModel& own);
  /// Unloads a model of load_own: no client finds it by name from now on, and requests that found
  /// it before are answered. Blocks, up to the drain limit. Fails: kInvalidHandle.
  Status retire_own(terms::ModelHandle model);
  /// For a daemon that starts again: as that client made it. Blocks. Fails: as load and
  /// deploy_graph.
  Result<terms::ModelEntry> deploy_again(const Deployment& deployment);
  /// Uploads of all clients.
  UploadedPackages& uploads() { return uploads_; }
  /// As load, but nothing is loaded. Blocks.
  Result<terms::Footprint> estimate(const terms::LoadOptions& options, const PackageFile& file,
                                    std::shared_ptr<const package::Executable> executable);
  Status start(const Caller& caller, terms::ModelHandle model);
  /// Blocks, up to `drain_ns` and the time a stage takes.
  Status stop(const Caller& caller, terms::ModelHandle model, std::int64_t drain_ns);
  /// As stop.
  Status unload(const Caller& caller, terms::ModelHandle model, std::int64_t drain_ns);
  /// Blocks.
  Status reset(const Caller& caller, terms::ModelHandle model);
  /// Brings a lost device back. Requests in flight on it end; models that failed are stopped
  /// afterwards, and returned. Blocks.
  /// Fails: as Engine::reset_device; kPermissionDenied for a device with models that the caller
  /// does not control.
  Result<std::vector<terms::ModelEntry>> reset_device(const Caller& caller, terms::DeviceId device);
  /// All, or the one with this handle. Fails: kInvalidHandle.
  Result<std::vector<terms::ModelEntry>> list_models(std::uint64_t model) const;
  Result<std::vector<terms::ModelStatistics>> statistics(std::uint64_t model) const;
  terms::ServerStatistics all_statistics() const;
  Metrics metrics() const;

  // ---- shared memory: all of it belongs to a session

  /// Where clients pass memfds, for `server`. Before anybody calls.
  void set_side_socket(std::string path) { side_socket_ = std::move(path); }
  /// The memory of a memfd; `fd` stays the caller's.
  /// Fails: as Region::adopt; kFailed without a session; kOutOfResources over its quota.
  Result<std::uint64_t> register_memory(const Caller& caller, int fd, std::uint64_t size_bytes);
  /// As register_memory; a thread serves the ring in the memory from now on. Fails: as
  /// RingServer::create, too.
  Result<std::uint64_t> register_ring(const Caller& caller, int fd, std::uint64_t size_bytes);
  /// POSIX shared memory of the caller's user. Fails: as Region::open; kPermissionDenied for a
  /// caller on another machine; else as register_memory.
  Result<terms::RegionInfo> register_name(const Caller& caller, const std::string& name);
  /// Requests in flight keep the memory; a ring ends. Blocks. Fails: kInvalidHandle.
  Status unregister_region(const Caller& caller, std::uint64_t handle);
  std::vector<terms::RegionInfo> list_regions(const Caller& caller) const;
  /// A part of a POSIX shared memory under a name of the client's, which belongs to its session or,
  /// without one, to its account.
  /// Fails: as Region::open; kInvalid for a part outside of the memory, and a name in use;
  ///        kPermissionDenied for a client that is no user of this machine; kOutOfResources.
  Status register_part(const Caller& caller, const terms::NamedRegion& wanted);
  /// Empty: all of the caller's. Unknown names are none. Requests in flight keep the memory.
  void unregister_parts(const Caller& caller, std::string_view name);
  /// Empty: all of the caller's. Fails: kInvalidHandle.
  Result<std::vector<terms::NamedRegion>> list_parts(const Caller& caller,
                                                     std::string_view name) const;

  // ---- inference

  /// The model for the caller's requests; a FlightTable submits them to it. Asks for the role
  /// again, because streams and rings outlive a change of the rules.
  /// Fails: kInvalidHandle, kPermissionDenied, kUnavailable while shutting down.
  Result<std::shared_ptr<dispatch::ModelRef>> find_model(const Caller& caller,
                                                         terms::ModelHandle model) const;
  /// Quota and limits for one request. Asks for the roles again, because streams and rings outlive
  /// a change of the rules.
  dispatch::RequestLimits limits_of(const Caller& caller) const {
    const terms::Roles roles = access_.roles_of(caller.peer);
    return {caller.session->requests(), roles.max_run_ns(), roles.max_priority()};
  }
  /// Caller and model of a request that comes by itself. Fails: as caller_of and find_model.
  Result<Admission> admit(std::string_view token, terms::Peer peer, terms::ModelHandle model) const;

  /// The model of this name, and version, that the session may use; of several, the highest
  /// version, and of these the one loaded last. Fails: kInvalidHandle.
  Result<terms::ModelHandle> find_named(terms::SessionId session, std::string_view name,
                                        const dispatch::VersionChoice& version = {}) const {
    return SLUICE_TRY(models_.find(name, version, session)).handle;
  }
  /// 1 while the model is being loaded, and once it is unloaded.
  std::int64_t version_of(terms::ModelHandle model) const;
  /// What was compiled of a model that the caller may use. Fails: as find_model; kUnavailable for a
  /// model in a worker process, which has its package, and for a graph of functions.
  Result<std::shared_ptr<const package::Executable>> executable(const Caller& caller,
                                                                terms::ModelHandle model) const;
  /// Versions of the models with this name that the session may use; ascending.
  std::vector<std::int64_t> versions_of(terms::SessionId session, std::string_view name) const {
    return models_.versions(name, session);
  }
  /// The same for a request, which takes its turn of the name's traffic. A model that is updated
  /// answers whoever found it. Fails: as find_model.
  Result<std::shared_ptr<dispatch::ModelRef>> find_model(
      const Caller& caller, std::string_view name, const dispatch::VersionChoice& version) const;
  /// As ModelTable::set_traffic.
  void set_traffic(const std::string& name, dispatch::Traffic traffic) {
    models_.set_traffic(name, std::move(traffic));
  }
  /// As ModelTable::set_absence.
  void set_absence(const std::string& name, std::string why) {
    models_.set_absence(name, std::move(why));
  }

  // ---- the exchange: tensors that stay between requests, of the session that put them

  sandbox::Exchange& exchange() { return exchange_; }
  /// Puts a copy. Fails: as Exchange::put; kUnavailable.
  Result<terms::TensorIndex> put_tensor(const Caller& caller, const terms::TensorView& view,
                                        std::int64_t ttl_ns);

  /// Copies a tensor to a device of own memory, where requests that take it as an input read it
  /// until it leaves the exchange. Returns the device that it came from over a link, or that had
  /// it; none: it came from the host. Blocks. Fails: as Exchange::get and Engine::bring; kInvalid
  /// for strings.
  Result<std::optional<terms::DeviceId>> bring_tensor(const Caller& caller,
                                                      terms::TensorIndex index,
                                                      terms::DeviceId device);

  /// A tensor that a model left on its device, for a request of a model on `device`
  /// (RequestSink::left_on): over the link between the two, as long as the result lives. Null: the
  /// request needs the bytes in the host. Blocks.
  std::shared_ptr<const void> bring_by_link(const terms::OutputTensor& tensor, const void* device);

  /// Lets daemons of other hosts fetch the tensor; they say index and key.
  /// Fails: as Exchange::offer; kFailed where no daemon may.
  Result<std::string> offer_tensor(const Caller& caller, terms::TensorIndex index);
  /// For another daemon. Fails: kPermissionDenied for one that may not; as Exchange::get_offered.
  Result<sandbox::ExchangeTable::Lease> get_offered(const terms::Peer& peer,
                                                    terms::TensorIndex index,
                                                    std::string_view key) const;
  /// Puts a copy of a tensor of another daemon into the exchange. Blocks until it is here, or a
  /// stop of `stop` is requested, the session ends or the daemon shuts down.
  /// Fails: as FetchTensor and Exchange::put; kPermissionDenied for an address that the settings
  /// lack; kOutOfResources for too many at a time.
  Result<terms::PulledTensor> pull_tensor(const Caller& caller, const terms::OfferedTensor& wanted,
                                          std::int64_t ttl_ns, std::stop_source stop);

  // ---- profiles: they cover the whole daemon, requests of other sessions included

  /// Starts a profile for the caller's session; it ends with the session. Fails: as
  /// Engine::start_profile; kUnavailable.
  Result<std::uint64_t> start_profile(const Caller& caller, const terms::ProfileSettings& settings);
  /// Fails: kInvalidHandle; kPermissionDenied.
  Result<terms::Profile> stop_profile(const Caller& caller, std::uint64_t profile);

  /// Refuses new sessions, loads and requests from now on. Requests in flight continue.
  void start_draining();
  /// Ends all sessions and the engine; requests in flight have `drain_ns`. Blocks.
  void shutdown(std::int64_t drain_ns);

 private:
  struct Owner {
    terms::SessionId session = terms::kNobody;
    std::string account;  ///< empty: administrators alone control it
  };
  using Owners = std::map<std::uint64_t, Owner>;
  struct HostedModel {
    runtime::ModelHost* host = nullptr;
    terms::ModelInfo info;
    std::int64_t version = 1;
  };

  Status check_ready() const;
  void add_owner(const ClientSession& session);
  /// For calls that make, use or change something. Fails: kPermissionDenied without a session where
  /// one is required.
  Status check_session(const Caller& caller) const;
  /// Isolation of what the caller makes without naming one.
  terms::Isolation default_isolation(const Caller& caller) const;
  Result<runtime::ModelHost*> host_for(const terms::LoadOptions& options);
  Status check_workers() const;
  Status destroy(terms::CoreGroupId group);
  std::vector<HostedModel> all_models() const;
  std::vector<HostedModel> models_on(terms::DeviceId device) const;
  terms::ModelEntry describe(terms::ModelInfo info, terms::SessionId session,
                             const terms::Signature& signature) const;
  Result<std::vector<HostedModel>> select_models(std::uint64_t model) const;
  terms::KeptCounts kept_counts(terms::ModelHandle model) const;
  std::vector<terms::GroupInfo> all_groups() const;
  Status check_owner(const Owners& owners, std::uint64_t handle, const Caller& caller,
                     std::string_view what) const;
  static Status check_owner(terms::SessionId owner, std::uint64_t handle, const Caller& caller,
                            std::string_view what);
  /// As check_owner, to change or remove it. Fails: kPermissionDenied also for what a client of
  /// another account made without a session.
  static Status check_control(const Owner& owner, std::uint64_t handle, const Caller& caller,
                              std::string_view what);
  Status check_control(const Owners& owners, std::uint64_t handle, const Caller& caller,
                       std::string_view what) const;
  bool answers(const ServedModel& served, terms::ModelHandle model) const;
  void update_replying(const ServedModel& served, terms::ModelHandle model) const;
  Result<ServedModel> find_own(const Caller& caller, terms::ModelHandle model) const;
  /// To start, stop, reset or unload it. Fails: as find_own and check_control.
  Result<ServedModel> find_to_control(const Caller& caller, terms::ModelHandle model) const;
  runtime::LoadRequest load_request(const terms::LoadOptions& options) const;
  Result<runtime::LoadRequest> load_request(
      const terms::LoadOptions& options, const PackageFile& file,
      std::shared_ptr<const package::Executable> executable) const;
  Caller own_caller() const;
  Result<terms::ModelEntry> keep(const Caller& caller, terms::ModelEntry entry,
                                 const Deployment& deployment);
  Result<terms::ModelEntry> load(const Caller& caller, const terms::LoadOptions& options,
                                 runtime::LoadRequest request, const OwnModel& own = {});
  Result<terms::ModelEntry> enter_loaded(const Caller& caller, runtime::ModelHost& host,
                                         Result<terms::ModelHandle> model,
                                         const OwnModel& own = {});
  struct Front {
    std::shared_ptr<runtime::RequestSink> sink;
    std::shared_ptr<ReplyingModel> replying = nullptr;  ///< null: no replies are kept
    bool has_sequences = false;
  };
  Result<Front> front_of(runtime::ModelHost& host, terms::ModelHandle model,
                         const std::string& name, const terms::DeclaredModel* declared);
  Result<terms::ModelEntry> enter_model(const Caller& caller, runtime::ModelHost& host,
                                        terms::ModelHandle model, const OwnModel& own);
  Result<terms::ModelEntry> enter_graph(const Caller& caller, terms::GraphRequest request);
  Status check_source(const std::string& address) const;
  void remember_executable(terms::ModelHandle model, const runtime::LoadRequest& request);
  terms::SessionId owner(const Owners& owners, std::uint64_t handle) const;
  void forget_model(terms::ModelHandle model, const terms::ModelInfo& info, const Caller& caller);
  Result<terms::ModelHandle> load_on(runtime::ModelHost& host, const runtime::LoadRequest& request,
                                     const terms::LoadOptions& options,
                                     const std::stop_token& stop);
  Result<std::uint64_t> add_region(const Caller& caller, std::shared_ptr<shm::Region> region);
  void reclaim(const std::shared_ptr<ClientSession>& session, const Status& reason);
  void drop_profiles(terms::SessionId session);
  std::int64_t drain_deadline_ns(std::int64_t drain_ns) const;
  /// While `host` stops or unloads the model. A worker that hangs is killed by its pool.
  Watchdog::Watch watch(const runtime::ModelHost& host, terms::ModelHandle model,
                        std::string_view what, std::int64_t drain_ns);
  std::int64_t hang_ns(std::int64_t drain_ns) const;

  runtime::Engine& engine_;
  worker::WorkerPool* workers_ = nullptr;
  ClientMemory memory_;
  sandbox::Exchange exchange_;  ///< before the functions, whose last requests put outputs into it
  const std::unique_ptr<sandbox::FunctionHost> functions_;
  const std::unique_ptr<sandbox::GraphHost> graphs_;  ///< of the functions
  runtime::HostDirectory hosts_;                      ///< of all of these
  terms::FetchTensor fetch_;
  std::atomic<int> num_pulls_ = 0;
  std::stop_source stop_pulls_;
  DeploymentEvents events_;
  UploadedPackages uploads_;
  std::function<void(const std::string& what)> on_hang_;
  Watchdog watchdog_;
  const topology::DeviceMap devices_;
  mutable std::mutex options_mutex_;
  ServiceOptions options_;
  Log& log_;
  const std::shared_ptr<telemetry::Telemetry> telemetry_ = std::make_shared<telemetry::Telemetry>();
  const std::int64_t started_ns_;
  std::atomic<bool> is_leaving_ = false;
  std::atomic<bool> is_draining_ = false;
  std::atomic<bool> is_preparing_ = false;
  std::atomic<bool> requires_session_ = false;
  Access access_;
  const std::shared_ptr<PostedReplies> posted_replies_;  ///< of all sessions
  SessionTable sessions_;
  mutable LoadMeter load_meter_;
  mutable CommonHoldings common_;  ///< of clients without a session
  ModelTable models_;
  const std::shared_ptr<KeptReplies> replies_;  ///< null: no model keeps any
  mutable std::shared_mutex owners_mutex_;
  Owners group_owners_;
  Owners profile_owners_;
  std::atomic<std::uint64_t> next_region_ = 1;
  std::string side_socket_;
};

}  // namespace sluice::service
