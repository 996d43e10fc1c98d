#include "daemon/daemon.h"

#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/process/child.h"
#include "base/process/memory_limit.h"
#include "base/system/huge_pages.h"
#include "base/text/version.h"
#include "daemon/balance/agent_line.h"
#include "daemon/http/host_guard.h"
#include "daemon/telemetry/span_sender.h"
#include "operators/module.h"
#include "rpc/client/fetch_tensor.h"
#include "service/prometheus/metrics_text.h"
#include "service/prometheus/text.h"
#include "tls/context.h"

namespace sluice::daemon {
namespace {

namespace fs = std::filesystem;

/// Time for other calls than inference to end after the engine has stopped: they only have to send
/// an answer.
constexpr std::int64_t kGraceNs = 200'000'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// Between two looks at what nobody tells: connections that clients close, models that load.
constexpr std::chrono::milliseconds kLook(10);

tls::Files tls_files(const Settings& settings) {
  return {settings.tls_certificate, settings.tls_key, settings.tls_client_ca};
}

Result<fs::path> canonical_folder(const std::string& folder, std::string_view key) {
  std::error_code error;
  fs::path real = fs::canonical(folder, error);
  if (!error && fs::is_directory(real, error)) return real;
  return make_error(Code::kNotFound, "{}: \"{}\" is not a folder", key, folder);
}

Result<std::vector<fs::path>> canonical_folders(const std::vector<std::string>& folders,
                                                std::string_view key) {
  std::vector<fs::path> all;
  for (const std::string& folder : folders) {
    all.push_back(SLUICE_TRY(canonical_folder(folder, key)));
  }
  return all;
}

/// Limits of the compilation of one ONNX file. Kernels that serve go first.
ChildLimits compile_limits(const Settings& settings) {
  constexpr int kNiceness = 10;
  const std::int64_t most_bytes = usable_memory_bytes() / 4 * 3;
  return {.memory_bytes = settings.compile_bytes > 0 ? settings.compile_bytes : most_bytes,
          .time_ns = settings.compile_seconds * kNsPerSecond,
          .niceness = kNiceness};
}

Result<std::vector<uid_t>> users_of(const std::vector<std::string>& names) {
  std::vector<uid_t> users;
  for (const std::string& name : names) {
    const passwd* entry = getpwnam(name.c_str());
    if (entry == nullptr) {
      return make_error(Code::kNotFound, "socket_users: there is no user \"{}\"", name);
    }
    users.push_back(entry->pw_uid);
  }
  return users;
}

/// Number and group of `worker_user`; nothing if workers stay who the daemon is.
Result<std::optional<std::pair<uid_t, gid_t>>> worker_user(const Settings& settings) {
  using User = std::optional<std::pair<uid_t, gid_t>>;
  if (geteuid() != 0 || settings.worker_user.empty()) return User();
  const passwd* user = getpwnam(settings.worker_user.c_str());
  if (user == nullptr) {
    return make_error(Code::kNotFound, "worker_user: there is no user \"{}\"",
                      settings.worker_user);
  }
  return User(std::pair(user->pw_uid, user->pw_gid));
}

/// Both kinds of processes start through one file. The proxy stays who the daemon is, because the
/// device is the daemon's.
sandbox::ProgramHostOptions program_options(const Settings& settings,
                                            const std::optional<std::pair<uid_t, gid_t>>& user) {
  const std::string starter = program_beside("sluice-guest-program").string();
  const std::string number = user ? std::to_string(user->first) : "-1";
  const std::string group = user ? std::to_string(user->second) : "-1";
  sandbox::ProgramHostOptions options;
  options.launcher = {starter, "guest", number, group, std::to_string(settings.program_bytes)};
  options.proxy = {starter, "proxy", program_beside("sluice").string(), "guest", "serve"};
  options.proxy.insert(
      options.proxy.end(),
      {"--backend", settings.program_backend, "--transfer-policy", settings.transfer_policy,
       "--transfer-blocks-in-flight", std::to_string(settings.transfer_blocks_in_flight)});
  options.user = user ? user->first : geteuid();
  options.group = user ? user->second : getegid();
  return options;
}

Result<std::vector<service::AccessToken>> read_tokens(const std::string& path) {
  if (path.empty()) return std::vector<service::AccessToken>();
  const std::string text = SLUICE_TRY(read_text_file(path, std::int64_t{1} << 20));
  return service::parse_tokens(text).with_context(fmt::format("token_file \"{}\"", path));
}

Result<service::ServiceOptions> service_options(const Settings& settings) {
  service::ServiceOptions options;
  options.version = kSluiceVersion;
  options.quota.max_sessions = static_cast<std::int32_t>(settings.sessions_per_user);
  options.quota.max_models = static_cast<std::int32_t>(settings.session_models);
  options.quota.max_cores = static_cast<std::int32_t>(settings.session_cores);
  options.quota.max_in_flight = settings.session_requests;
  options.quota.max_regions = static_cast<std::int32_t>(settings.session_regions);
  options.quota.max_region_bytes = settings.session_region_bytes;
  options.model_folders = SLUICE_TRY(canonical_folders(settings.model_folders, "model_folders"));
  options.program_folders =
      SLUICE_TRY(canonical_folders(settings.program_folders, "program_folders"));
  options.max_upload_bytes = settings.max_upload_bytes;
  options.upload_idle_ns = settings.upload_idle_seconds * kNsPerSecond;
  options.requires_session = settings.require_session;
  options.roles = SLUICE_TRY(service::parse_role_rules(settings.roles));
  options.quota.max_answer_bytes = settings.session_answer_bytes;
  options.stream_requests = settings.stream_requests;
  options.stream_answer_bytes = settings.stream_answer_bytes;
  options.memory = {settings.answer_bytes, settings.exchange_bytes, settings.memory_per_tenant};
  options.kept_reply_bytes = settings.response_cache_bytes;
  options.drain_limit_ns = settings.drain_seconds * kNsPerSecond;
  options.hang_limit_ns = settings.hang_seconds * kNsPerSecond;
  options.max_run_ns = settings.max_run_seconds * kNsPerSecond;
  options.isolates_others = settings.isolation == kIsolateOthers;
  if (!options.isolates_others) {
    options.isolation = SLUICE_TRY(terms::parse_isolation(settings.isolation));
  }
  options.functions.num_lanes = static_cast<std::int32_t>(settings.function_lanes);
  options.functions.num_cells = static_cast<std::int32_t>(settings.function_cells);
  options.functions.lane_cores = static_cast<std::int32_t>(settings.function_lane_cores);
  options.shares_cores = !settings.exclusive_cores;
  options.exchange_peers = SLUICE_TRY(service::parse_exchange_peers(settings.exchange_peers));
  options.exchange_sources = settings.exchange_sources;
  if (!settings.loopback_user.empty()) {
    const std::string rule = "user:" + settings.loopback_user;
    options.loopback_user =
        SLUICE_TRY(service::parse_role_rule(rule + "=none").with_context("loopback_user")).id;
  }
  return options;
}

Result<device::TransferOptions> transfer_options(const Settings& settings) {
  device::TransferOptions options;
  options.policy = SLUICE_TRY(parse_transfer_policy(settings.transfer_policy));
  options.block_bytes = settings.transfer_block_bytes;
  options.blocks_in_flight = static_cast<int>(settings.transfer_blocks_in_flight);
  return options;
}

Result<rpc::server::ServerOptions> server_options(const Settings& settings) {
  rpc::server::ServerOptions options;
  for (const std::string& address : settings.listen) {
    options.addresses.push_back(SLUICE_TRY(rpc::wire::parse_address(address)));
  }
  options.unix_socket.mode = static_cast<mode_t>(std::stoul(settings.socket_mode, nullptr, 8));
  options.unix_socket.group = settings.socket_group;
  options.unix_socket.users = SLUICE_TRY(users_of(settings.socket_users));
  options.certificates = tls_files(settings);
  options.tokens = SLUICE_TRY(read_tokens(settings.token_file));
  options.max_message_bytes = settings.max_message_bytes;
  options.connections = settings.connections;
  options.connections_per_peer = settings.connections_per_peer;
  options.connection_age_ns = settings.connection_age_seconds * kNsPerSecond;
  options.is_plain_allowed = settings.listen_plain;
  return options;
}

/// The first word of the first line.
Result<std::string> read_own_token(const std::string& path) {
  if (path.empty()) return std::string();
  return SLUICE_TRY(read_tokens(path)).front().secret;
}

tls::Files exchange_tls_files(const Settings& settings) {
  if (settings.exchange_ca.empty()) return {};
  return {settings.tls_certificate, settings.tls_key, settings.exchange_ca};
}

/// As a peer of others. Files are read for each fetch, so a new certificate needs no reload.
terms::FetchTensor fetch_with(const Settings& settings) {
  rpc::client::ClientOptions peer;
  peer.ca = settings.exchange_ca;
  if (!peer.ca.empty()) {
    peer.certificate = settings.tls_certificate;
    peer.key = settings.tls_key;
  }
  return [peer, token_file = settings.exchange_token_file,
          idle_ns = settings.upload_idle_seconds * kNsPerSecond](
             const terms::OfferedTensor& wanted, const terms::TakeRoom& take_room,
             const std::stop_token& stop) -> Result<terms::OutputTensor> {
    rpc::client::ClientOptions options = peer;
    options.address = wanted.address;
    options.token = SLUICE_TRY(read_own_token(token_file));
    return rpc::client::fetch_tensor(options, wanted.exchange, wanted.key, take_room, idle_ns,
                                     stop);
  };
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(const Settings& settings, InheritedFds inherited,
                                              bool is_successor, service::Log& log) {
  std::unique_ptr<Daemon> daemon(new Daemon(settings, log));
  SLUICE_TRY(daemon->start_all(std::move(inherited), is_successor));
  return daemon;
}

/// Settings that cannot be served fail before anything is locked; devices are locked before memory
/// is reserved on them; the sockets come last, so that no client reaches a half-built service.
Status Daemon::start_all(InheritedFds inherited, bool is_successor) {
  rpc::server::ServerOptions serving = SLUICE_TRY(server_options(settings_));
  serving.inherited = &inherited;
  machine_ = SLUICE_TRY(find_machine(settings_, log_));
  if (machine_.devices.devices.empty()) {
    return make_error(Code::kNotFound, "no devices; `sluice doctor` says why");
  }
  std::vector<std::string> addresses;
  for (const rpc::wire::Address& one : serving.addresses) addresses.push_back(one.to_string());
  const std::string owner =
      fmt::format("sluiced, process {}, at {}", getpid(), fmt::join(addresses, ", "));
  locks_ =
      SLUICE_TRY(DeviceLocks::take(settings_.lock_folder, machine_.devices, owner, &inherited));
  SLUICE_TRY(reserve_huge_pages());
  runtime::EngineOptions options;
  options.devices = machine_.devices;
  if (settings_.hang_seconds > 0) {  // first the device counts as lost, then the daemon
    options.hang_limit_ns =
        std::min(options.hang_limit_ns, settings_.hang_seconds * kNsPerSecond / 2);
  }
  options.transfers = SLUICE_TRY(transfer_options(settings_));
  engine_ =
      std::make_unique<runtime::Engine>(machine_.backends, *machine_.drivers, std::move(options));
  SLUICE_TRY(start_sensors());
  log_devices(machine_.devices, log_);
  service_ = std::make_unique<service::Service>(*engine_, machine_.devices,
                                                SLUICE_TRY(service_options(settings_)), log_);
  service_->set_fetch(fetch_with(settings_));
  service_->set_on_hang(
      [this](const std::string& what) { exit_hung(what, settings_.hang_seconds * kNsPerSecond); });
  SLUICE_TRY(start_telemetry());
  SLUICE_TRY(start_workers());
  for (const std::string& sha256 : settings_.allow_operators) {
    SLUICE_TRY(operators::allow_module(sha256).with_context("allow_operators"));
  }
  SLUICE_TRY(load_models());
  SLUICE_TRY(open_repository());
  if (!is_successor) {
    SLUICE_TRY(start_doors(serving));
    return repository_->start();
  }
  SLUICE_TRY(repository_->start());
  while (!service_->is_ready()) std::this_thread::sleep_for(kLook);
  return start_doors(serving);
}

Status Daemon::start_doors(rpc::server::ServerOptions serving) {
  // Before a door: all of them have texts made here, and the metrics have its counts.
  inference_ = std::make_unique<http::InferenceHandler>(*service_, *repository_, call_threads_,
                                                        serving.tokens, serving.max_message_bytes,
                                                        settings_.text_cache_bytes);
  serving.texts = &inference_->texts();
  server_ = SLUICE_TRY(rpc::server::Server::start(*service_, *repository_, serving));
  SLUICE_TRY(start_exchange(serving));
  SLUICE_TRY(start_http(serving));
  return start_agent(serving.inherited);
}

/// Before the doors are open, because they begin observations.
Status Daemon::start_telemetry() {
  telemetry::Telemetry& telemetry = service_->telemetry();
  telemetry.set_trace_settings(trace_settings(settings_));
  if (!settings_.otlp.empty()) SLUICE_TRY(start_tracing().with_context("otlp"));
  if (!settings_.access_log.empty()) {
    const auto on_failure = [this](const Status& status) {
      log_.add(service::LogLevel::kWarning, "access_log.lost reason={}",
               service::in_quotes(status.message()));
    };
    access_log_ =
        SLUICE_TRY(AccessLog::open(settings_.access_log, on_failure).with_context("access_log"));
    telemetry.set_access_sink([this](auto record) { access_log_->add(std::move(record)); });
  }
  if (!settings_.record.empty()) {
    const auto on_end = [this](const Status& status) {
      log_.add(service::LogLevel::kWarning, "record.end reason={}",
               service::in_quotes(status.is_ok() ? "record_bytes are written" : status.message()));
    };
    traffic_ = SLUICE_TRY(TrafficLog::create(settings_.record, settings_.record_bytes, on_end)
                              .with_context("record"));
    telemetry.set_traffic_sink([this](auto record) { traffic_->add(std::move(record)); },
                               [this](std::int64_t bytes) { return traffic_->room_for(bytes); });
  }
  return ok_status();
}

Status Daemon::start_tracing() {
  const auto on_change = [this, name = settings_.otlp](const Status& status) {
    if (status.is_ok()) {
      log_.add(service::LogLevel::kInfo, "trace.sent_again collector={}", name);
    } else {
      log_.add(service::LogLevel::kWarning, "trace.lost collector={} reason={}", name,
               service::in_quotes(status.message()));
    }
  };
  const Collector collector = SLUICE_TRY(parse_collector(settings_.otlp));
  auto send = SLUICE_TRY(send_to(collector));
  spans_ = SLUICE_TRY(telemetry::SpanExporter::start(std::move(send), kSluiceVersion, on_change));
  service_->telemetry().set_span_sink([this](auto record) { spans_->add(std::move(record)); });
  return ok_status();
}

/// A scraper sends its request at once.
constexpr http::ServerOptions kMetricsOptions = {.num_threads = 1,
                                                 .max_connections = 32,
                                                 .max_body_bytes = 0,
                                                 .head_ns = 5 * kNsPerSecond,
                                                 .idle_ns = 5 * kNsPerSecond};

Status Daemon::start_exchange(const rpc::server::ServerOptions& serving) {
  if (settings_.exchange_listen.empty()) return ok_status();
  rpc::server::PeerServerOptions options;
  options.address = SLUICE_TRY(rpc::wire::parse_address(settings_.exchange_listen));
  options.certificates = exchange_tls_files(settings_);
  options.tokens = serving.tokens;
  options.connections = serving.connections;
  options.connections_per_peer = serving.connections_per_peer;
  options.inherited = serving.inherited;
  peers_ = SLUICE_TRY(rpc::server::PeerServer::start(*service_, options));
  return ok_status();
}

/// The thread of a computation, or of a driver, that does not return cannot be ended, and keeps its
/// core: only a new process has all of them again. The report is what the log says; whoever sent
/// SIGTERM, and a service manager, see the code.
void Daemon::exit_hung(const std::string& what, std::int64_t hang_ns) {
  log_.add(service::LogLevel::kError, "daemon.hung waits_for={} hang_s={} exit_code={}",
           service::in_quotes(what), hang_ns / kNsPerSecond, kHungExitCode);
  std::fprintf(stderr, "sluiced: %s does not end; exiting, so that its cores are free again\n",
               what.c_str());
  std::fflush(nullptr);
  _exit(kHungExitCode);
}

Status Daemon::reserve_huge_pages() {
  if (settings_.huge_pages == 0) return ok_status();
  const auto num_devices = static_cast<std::int64_t>(machine_.devices.devices.size());
  HugePages::set_for_process(
      SLUICE_TRY(HugePages::reserve(settings_.huge_pages * num_devices)
                     .with_context(fmt::format("huge_pages {} for each of {} devices",
                                               settings_.huge_pages, num_devices))));
  return ok_status();
}

/// Before anything is loaded: a device that is ill already gets nothing.
Status Daemon::start_sensors() {
  const bool has_some = settings_.sim.empty() || !settings_.sysfs.empty();
  if (settings_.sensor_seconds == 0 || !has_some) return ok_status();
  topology::SensorPlaces places;
  if (!settings_.sysfs.empty()) places.sysfs = settings_.sysfs;
  sensors_ =
      SLUICE_TRY(SensorWatch::start(topology::SensorReader(machine_.devices, places),
                                    settings_.sensor_seconds * kNsPerSecond, *engine_, log_));
  return ok_status();
}

Status Daemon::start_workers() {
  worker::PoolOptions options;
  options.program = worker::default_program();
  options.devices = machine_.devices;
  if (!settings_.sim.empty()) {
    options.sim = SLUICE_TRY(read_text_file(settings_.sim, std::int64_t{1} << 24));
  }
  options.max_restarts = settings_.worker_restarts;
  options.silence_limit_ns = settings_.worker_silence * std::int64_t{1'000'000'000};
  options.is_filtered = !settings_.worker_unfiltered;
  const auto user = SLUICE_TRY(worker_user(settings_));
  if (user) {
    options.user = user->first;
    options.group = user->second;
  }
  options.on_event = [this](const std::string& event) {
    log_.add(service::LogLevel::kWarning, "worker.event reason={}", service::in_quotes(event));
  };
  workers_ = std::make_unique<worker::WorkerPool>(*engine_, std::move(options));
  service_->set_workers(workers_.get());
  programs_ =
      std::make_unique<sandbox::ProgramHost>(program_options(settings_, user), engine_->clock());
  service_->set_programs(*programs_);
  return ok_status();
}

/// A model that does not load is no reason to leave the others unserved; the log names it.
Status Daemon::load_models() {
  for (const std::string& path : settings_.models) {
    const auto entry = service_->load_own({.path = path});
    if (entry.is_ok()) continue;  // the service logs both
    log_.add(service::LogLevel::kError, "model.not_loaded path={} reason={}",
             service::in_quotes(path), service::in_quotes(entry.status().message()));
  }
  return kept_models_.restore(*service_);
}

Status Daemon::open_repository() {
  repository::RepositoryOptions options;
  if (!settings_.repository.empty()) {
    std::error_code error;
    const fs::path place = settings_.repository;
    const bool is_list = place.extension() == ".json" && fs::is_regular_file(place, error);
    // A list may be a link that is turned, as those of a ConfigMap are.
    options.place = is_list ? fs::absolute(place, error)
                            : SLUICE_TRY(canonical_folder(settings_.repository, "repository"));
  }
  options.poll_ns = settings_.repository_poll_seconds * kNsPerSecond;
  options.compiler = program_beside("sluice");
  options.compile_limits = compile_limits(settings_);
  options.text_flags = {"--kv-cache", settings_.kv_cache, "--weights", settings_.weights};
  repository_ = std::make_unique<repository::Repository>(*service_, std::move(options));
  return ok_status();
}

/// Fails: kPermissionDenied.
Result<std::string> Daemon::metrics_body(const terms::Peer& peer, service::MetricsForm form) const {
  SLUICE_TRY(service_->authorize(peer, terms::Role::kMonitor));
  service::Metrics metrics = service_->metrics();
  if (spans_ != nullptr) metrics.spans = spans_->counts();
  if (access_log_ != nullptr) metrics.lost_access_lines = access_log_->num_lost();
  service::PrometheusText text(form);
  service::add_metrics(metrics, text);
  if (inference_ != nullptr) inference_->add_metrics(text);
  return text.take();
}

Status Daemon::start_http(const rpc::server::ServerOptions& serving) {
  const auto tls = SLUICE_TRY(tls::read_server(serving.certificates, tls::Protocols::kHttp));
  const auto metrics = metrics_handler([this](const terms::Peer& peer, service::MetricsForm form) {
    return metrics_body(peer, form);
  });
  const auto open = [&](const std::string& text, const http::ServerOptions& options,
                        http::Handler handler) -> Result<std::unique_ptr<HttpDoor>> {
    auto address = SLUICE_TRY(rpc::wire::parse_address(text));
    // A page of a browser knows no token, and reaches no Unix socket.
    if (!address.is_unix && serving.tokens.empty()) {
      handler = for_own_pages(settings_.http_hosts, std::move(handler));
    }
    return HttpDoor::start(std::move(address), serving, options, std::move(handler), tls, log_);
  };
  if (!settings_.metrics.empty()) {
    metrics_ =
        SLUICE_TRY(open(settings_.metrics, kMetricsOptions, metrics).with_context("metrics"));
  }
  if (settings_.http.empty()) return ok_status();
  if (settings_.page) {
    page_ = std::make_unique<page::PageHandler>(
        *service_, call_threads_, [this](const http::Request& request, terms::Role role) {
          return inference_->caller_of(request, role);
        });
  }
  http::ServerOptions options;
  options.max_body_bytes = serving.max_message_bytes;
  options.all_body_bytes = std::max(options.all_body_bytes, 2 * serving.max_message_bytes);
  options.max_connections = static_cast<std::size_t>(serving.connections);
  const auto handler = [this, metrics](http::Request request, const http::Answer& answer) {
    if (request.path == "/metrics") return metrics(request, answer);
    if (page_ != nullptr && page::PageHandler::takes(request.path)) {
      return page_->handle(request, answer);
    }
    return inference_->handle(std::move(request), answer);
  };
  http_ = SLUICE_TRY(open(settings_.http, options, handler).with_context("http"));
  return ok_status();
}

Status Daemon::start_agent(InheritedFds* inherited) {
  if (settings_.agent_check.empty()) return ok_status();
  auto address = SLUICE_TRY(rpc::wire::parse_address(settings_.agent_check));
  const auto line = [this] { return agent_line(balance_state(*service_)); };
  agent_ = SLUICE_TRY(
      AgentDoor::start(std::move(address), line, log_, inherited).with_context("agent_check"));
  return ok_status();
}

Result<SettingsChange> Daemon::reload(const Settings& wanted) {
  // All that can fail is read first; the calls that apply it cannot fail. So a reload changes
  // everything or nothing.
  Settings next = settings_;
  SettingsChange change = take_over(wanted, next);
  auto options = SLUICE_TRY(service_options(next));
  auto tokens = SLUICE_TRY(read_tokens(next.token_file));
  auto tls = SLUICE_TRY(tls::read_server(tls_files(next), tls::Protocols::kHttp2));
  const auto http_tls = SLUICE_TRY(tls::read_server(tls_files(next), tls::Protocols::kHttp));
  auto peers_tls = SLUICE_TRY(tls::read_server(exchange_tls_files(next), tls::Protocols::kHttp2));
  if (tls != nullptr) {
    server_->set_tls(std::move(tls));
    if (http_ != nullptr) http_->set_tls(http_tls);
    if (metrics_ != nullptr) metrics_->set_tls(http_tls);
  }
  if (peers_ != nullptr) {
    if (peers_tls != nullptr) peers_->set_tls(std::move(peers_tls));
    peers_->set_tokens(tokens);
  }
  service_->set_options(std::move(options));
  telemetry::Telemetry& telemetry = service_->telemetry();
  telemetry.set_trace_settings(take_over_tracing(settings_, next, telemetry.trace_settings()));
  if (inference_ != nullptr) inference_->set_tokens(tokens);
  server_->set_tokens(std::move(tokens));
  settings_ = std::move(next);
  return change;
}

Daemon::~Daemon() { stop(0); }

std::vector<PassedFd> Daemon::pass_on() {
  kept_models_.set_handing_over(true);
  std::vector<PassedFd> fds;
  locks_.pass_on(fds);
  server_->pass_on(fds);
  if (peers_ != nullptr) peers_->pass_on(fds);
  if (http_ != nullptr) http_->pass_on("http", fds);
  if (metrics_ != nullptr) metrics_->pass_on("metrics", fds);
  if (agent_ != nullptr) agent_->pass_on(fds);
  return fds;
}

void Daemon::leave(std::int64_t drain_ns) {
  agent_ = nullptr;
  if (metrics_ != nullptr) metrics_->leave();
  if (http_ != nullptr) http_->leave();
  if (peers_ != nullptr) peers_->leave();
  server_->leave();
  const std::int64_t end_ns = deadline_after(system_clock(), drain_ns);
  const auto num_connections = [this] {
    return server_->num_connections() + (http_ == nullptr ? 0 : http_->num_connections());
  };
  while (num_connections() > 0 && system_clock().now_ns() < end_ns) {
    std::this_thread::sleep_for(kLook);
  }
}

void Daemon::announce_stop() { service_->announce_drain(); }

/// Metrics are served until the end of the drain, so that monitoring sees it.
void Daemon::stop(std::int64_t drain_ns) {
  if (service_ != nullptr) service_->start_draining();  // readiness falls first
  if (repository_ != nullptr) repository_->start_draining();
  if (peers_ != nullptr) peers_->shutdown();  // a fetch waits for no model, and can be repeated
  const std::int64_t end_ns = deadline_after(system_clock(), drain_ns);
  if (inference_ != nullptr) inference_->drain(end_ns);
  drain_ns = std::max<std::int64_t>(0, end_ns - system_clock().now_ns());
  if (service_ != nullptr) service_->shutdown(drain_ns);
  if (repository_ != nullptr) repository_->stop();
  if (server_ != nullptr) server_->shutdown(kGraceNs);
  if (page_ != nullptr) page_->close();
  if (http_ != nullptr) http_->shutdown(kGraceNs);
  call_threads_.close();
  agent_ = nullptr;
  metrics_ = nullptr;
  if (sensors_ != nullptr && !sensors_->stop()) {
    exit_hung("a look at the sensors", SensorWatch::kPatienceNs);
  }
  HugePages::set_for_process(nullptr);
}

}  // namespace sluice::daemon
