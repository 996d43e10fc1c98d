// sluiced: connects machine, engine, service and servers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/process/inherited_fds.h"
#include "daemon/balance/agent_door.h"
#include "daemon/device_locks.h"
#include "daemon/hardware/sensor_watch.h"
#include "daemon/http/http_door.h"
#include "daemon/kept/kept_models.h"
#include "daemon/machine.h"
#include "daemon/reload.h"
#include "daemon/telemetry/access_log.h"
#include "daemon/telemetry/traffic_log.h"
#include "http/open_inference/inference_handler.h"
#include "page/page_handler.h"
#include "repository/repository.h"
#include "rpc/server/peers/peer_server.h"
#include "rpc/server/server.h"
#include "sandbox/programs/program_host.h"
#include "service/call_threads.h"
#include "telemetry/span_exporter.h"
#include "worker/pool.h"

namespace sluice::daemon {

/// Exit code if a computation outlives `hang_seconds`, or a look at the sensors its limit.
inline constexpr int kHungExitCode = 3;

/// Serves from `start` to `stop`. Calls from one thread.
class Daemon {
 public:
  /// `log` outlives the daemon. `inherited`: sockets that listen already, and locks.
  /// `is_successor`: another daemon serves until this one can answer as it does, so the models of
  /// the repository are loaded first.
  /// Fails: what finding devices, locking them and listening report.
  static Result<std::unique_ptr<Daemon>> start(const Settings& settings, InheritedFds inherited,
                                               bool is_successor, service::Log& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  /// Where /metrics is; empty if nowhere.
  std::string metrics_address() const { return metrics_ ? metrics_->address() : ""; }
  /// Where HTTP is; empty if nowhere.
  std::string http_address() const { return http_ ? http_->address() : ""; }
  /// Where other daemons fetch tensors; empty if nowhere.
  std::string exchange_address() const { return peers_ ? peers_->address() : ""; }
  /// Where balancers ask for the weight; empty if nowhere.
  std::string agent_address() const { return agent_ ? agent_->address() : ""; }
  std::vector<std::string> addresses() const { return server_->addresses(); }
  const topology::DeviceMap& devices() const { return machine_.devices; }

  const Settings& settings() const { return settings_; }
  /// Applies all changed settings that are reloadable, or none if one fails; the token file is
  /// always read again.
  /// Fails: what reading it reports; kNotFound for a model folder.
  Result<SettingsChange> reload(const Settings& wanted);

  /// Everything that a successor needs to serve where this daemon does. From now on clients cannot
  /// change what the successor makes from the state file, until `resume`.
  std::vector<PassedFd> pass_on();
  /// There is no successor after all.
  void resume() { kept_models_.set_handing_over(false); }
  /// The successor serves: accepts no more connections and asks clients to come again, answers
  /// what they still send, and returns when they have gone, at the latest after `drain_ns`.
  void leave(std::int64_t drain_ns);

  /// Not ready from now on, so that balancers choose other daemons; requests are still taken.
  void announce_stop();
  /// Stops accepting requests, gives requests in flight `drain_ns` to end, then shuts down. Blocks.
  void stop(std::int64_t drain_ns);

 private:
  Daemon(Settings settings, service::Log& log)
      : settings_(std::move(settings)), log_(log), kept_models_(settings_.state_file, log) {}
  Status start_all(InheritedFds inherited, bool is_successor);
  Status start_doors(rpc::server::ServerOptions serving);
  Status reserve_huge_pages();
  [[noreturn]] void exit_hung(const std::string& what, std::int64_t hang_ns);
  Status start_sensors();
  Status start_workers();
  Status start_telemetry();
  Status start_tracing();
  Status load_models();
  Status open_repository();
  Status start_exchange(const rpc::server::ServerOptions& serving);
  Status start_http(const rpc::server::ServerOptions& serving);
  Status start_agent(InheritedFds* inherited);
  Result<std::string> metrics_body(const terms::Peer& peer, service::MetricsForm form) const;

  Settings settings_;
  service::Log& log_;
  DeviceLocks locks_;
  Machine machine_;
  KeptModels kept_models_;  ///< outlives the service, which tells it of models
  std::unique_ptr<telemetry::SpanExporter> spans_;  ///< null: no collector
  std::unique_ptr<AccessLog> access_log_;           ///< null: none
  std::unique_ptr<TrafficLog> traffic_;  ///< null: none. All outlive whoever answers requests.
  std::unique_ptr<runtime::Engine> engine_;
  std::unique_ptr<SensorWatch> sensors_;  ///< null: nobody looks
  std::unique_ptr<worker::WorkerPool> workers_;
  std::unique_ptr<sandbox::ProgramHost> programs_;
  std::unique_ptr<service::Service> service_;
  std::unique_ptr<repository::Repository> repository_;
  std::unique_ptr<rpc::server::Server> server_;
  std::unique_ptr<rpc::server::PeerServer> peers_;  ///< null: other daemons fetch nothing
  service::CallThreads call_threads_{8, 256,
                                     log_};  ///< of loads over HTTP: most of them, and waiting
  std::unique_ptr<http::InferenceHandler> inference_;  ///< makes texts of gRPC's clients, too
  std::unique_ptr<page::PageHandler> page_;            ///< null: there is none
  std::unique_ptr<HttpDoor> http_;
  std::unique_ptr<HttpDoor> metrics_;  ///< the last two, destroyed first: they read the service
  std::unique_ptr<AgentDoor> agent_;
};

}  // namespace sluice::daemon
