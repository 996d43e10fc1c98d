#include "service/service.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/process/with_lock.h"
#include "base/utf8.h"
#include "runtime/engine.h"
#include "service/clients/refusals.h"
#include "service/posted_replies.h"
#include "worker/pool.h"

namespace sluice::service {

namespace {

// Rises with every addition to the protocol; clients ask for it before they use an addition.
constexpr std::uint32_t kProtocolMinor = 16;

std::uint64_t number_of(terms::CoreGroupId group) {
  return static_cast<std::uint64_t>(group.value());
}

/// For the log.
std::string by(const Caller& caller) { return in_quotes(account_of(caller.peer)); }

}  // namespace

Service::Service(runtime::Engine& engine, topology::DeviceMap devices, ServiceOptions options,
                 Log& log)
    : engine_(engine),
      memory_(options.memory),
      exchange_(system_clock(), options.exchange),
      functions_(std::make_unique<sandbox::FunctionHost>(engine, options.functions)),
      graphs_(std::make_unique<sandbox::GraphHost>(*functions_, &exchange_)),
      watchdog_([this](const std::string& what) {
        if (on_hang_) on_hang_(what);
      }),
      devices_(std::move(devices)),
      options_(std::move(options)),
      log_(log),
      started_ns_(system_clock().now_ns()),
      posted_replies_(std::make_shared<PostedReplies>()),
      sessions_(options_.quota, memory_),
      common_(options_.quota, memory_, started_ns_,
              [this](const ClientSession& session) { add_owner(session); }),
      replies_(options_.kept_reply_bytes == 0
                   ? nullptr
                   : std::make_shared<KeptReplies>(options_.kept_reply_bytes)) {
  exchange_.add(std::weak_ptr<sandbox::ExchangeHolder>(posted_replies_));
  if (replies_ != nullptr) exchange_.add(std::weak_ptr<sandbox::ExchangeHolder>(replies_));
  hosts_.add(runtime::HandleKind::kEngine, engine_);
  hosts_.add(runtime::HandleKind::kFunction, *functions_);
  hosts_.add(runtime::HandleKind::kGraph, *graphs_);
  requires_session_ = options_.requires_session;
  access_.set_rules(options_.roles);
  access_.set_exchange_peers(options_.exchange_peers);
}

ServiceOptions Service::options() const {
  const std::lock_guard lock(options_mutex_);
  // A copy: a reload may replace the options at any moment.
  return options_;
}

void Service::set_options(ServiceOptions options) {
  // Open sessions keep the quota that they began with.
  sessions_.set_quota(options.quota);
  requires_session_ = options.requires_session;
  access_.set_rules(options.roles);
  access_.set_exchange_peers(options.exchange_peers);
  const std::lock_guard lock(options_mutex_);
  options_ = std::move(options);
}

terms::ServerInfo Service::server() const {
  const ServiceOptions options = this->options();
  terms::ServerInfo info;
  info.version = options.version;
  info.protocol_minor = kProtocolMinor;
  info.process = getpid();
  info.uptime_ns = system_clock().now_ns() - started_ns_;
  info.state = is_leaving_ ? "draining" : "ready";
  for (const terms::Device& device : devices_.devices) info.num_cores += device.num_cores;
  info.num_free_cores = engine_.num_free_cores();
  info.devices = devices_.devices;
  info.max_upload_bytes = options.max_upload_bytes;
  info.stream_requests = options.stream_requests;
  for (const auto& folder : options.model_folders) info.model_folders.push_back(folder.string());
  info.side_socket = side_socket_;
  return info;
}

terms::ServerInfo Service::server(const Caller& caller) const {
  terms::ServerInfo info = server();
  info.account = account_of(caller.peer);
  info.roles = access_.roles_of(caller.peer);
  return info;
}

terms::ServerHealth Service::health() const {
  terms::ServerHealth all;
  all.is_ready = is_ready();
  if (is_preparing_) all.reason = "the daemon loads its models";
  if (is_leaving_) all.reason = "the daemon is shutting down";
  all.descriptors = descriptor_use();
  all.num_refused_connections = num_refused_connections();
  for (const HostedModel& model : all_models()) {
    auto health = model.host->health(terms::ModelHandle{model.info.handle});
    if (!health.is_ok()) continue;  // unloaded meanwhile
    all.models.push_back({model.info.handle, model.info.name, std::move(*health)});
  }
  for (runtime::DeviceReport& device : engine_.report_devices()) {
    all.devices.push_back({device.id, std::move(device.health)});
  }
  return all;
}

void Service::set_workers(worker::WorkerPool* workers) {
  workers_ = workers;
  if (workers == nullptr) return;
  hosts_.add(runtime::HandleKind::kWorker, *workers);
  functions_->set_cells(
      {workers, [workers](const auto& request) { return workers->create_group(request, true); },
       [workers](terms::CoreGroupId group) { return workers->destroy_group(group); },
       [workers](terms::CoreGroupId group) {
         using State = sandbox::HostLife::State;
         const terms::WorkerInfo worker = workers->worker_of(group);
         const bool restarts = worker.state == "restarting" || worker.state == "starting";
         const State up = restarts ? State::kRestarts : State::kServes;
         return sandbox::HostLife{worker.state == "failed" ? State::kFailed : up,
                                  worker.num_restarts};
       },
       [workers](terms::CoreGroupId group) { return workers->revive(group); }});
}

/// Lanes of programs have core groups of the engine, as other lanes do.
void Service::set_programs(sandbox::ProgramHost& programs) {
  functions_->set_programs(
      {&programs, [this](const auto& request) { return engine_.create_group(request); },
       [this](terms::CoreGroupId group) { return engine_.destroy_group(group); },
       [](terms::CoreGroupId /*group*/) { return sandbox::HostLife(); },
       [](terms::CoreGroupId /*group*/) { return ok_status(); }});
}

std::int64_t Service::version_of(terms::ModelHandle model) const {
  const auto served = models_.find(model);
  return served.is_ok() ? served->version : 1;
}

std::vector<Service::HostedModel> Service::all_models() const {
  std::vector<HostedModel> all;
  for (terms::ModelInfo& info : hosts_.list()) {
    runtime::ModelHost* host = &hosts_.find(info.handle);
    const std::int64_t version = version_of(terms::ModelHandle{info.handle});
    all.push_back({host, std::move(info), version});
  }
  return all;
}

std::vector<terms::GroupInfo> Service::all_groups() const {
  std::vector<terms::GroupInfo> all = engine_.list_groups();
  if (workers_ != nullptr) workers_->describe(all);
  return all;
}

Status Service::check_ready() const {
  if (!is_draining_) return ok_status();
  return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                "the daemon is shutting down");
}

Status Service::check_session(const Caller& caller) const {
  // An atomic instead of options(): every request passes here.
  if (!requires_session_.load(std::memory_order_relaxed)) return ok_status();
  if (caller.session->id() != terms::kNobody) return ok_status();
  return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kFailed),
                "this daemon serves clients with a session only (require_session); open one");
}

terms::SessionId Service::owner(const Owners& owners, std::uint64_t handle) const {
  const std::shared_lock lock(owners_mutex_);
  const auto it = owners.find(handle);
  return it == owners.end() ? terms::kNobody : it->second.session;
}

Status Service::check_owner(const Owners& owners, std::uint64_t handle, const Caller& caller,
                            std::string_view what) const {
  const std::shared_lock lock(owners_mutex_);
  const auto it = owners.find(handle);
  if (it == owners.end()) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "no {} has handle {:#x}, or no longer",
                                what, handle);
  }
  return check_owner(it->second.session, handle, caller, what);
}

Status Service::check_owner(terms::SessionId owner, std::uint64_t handle, const Caller& caller,
                            std::string_view what) {
  if (owner == terms::kNobody || owner == caller.session->id()) return ok_status();
  return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                fmt::format("{} {:#x} belongs to session {}; only that session may use it", what,
                            handle, static_cast<std::uint64_t>(owner)));
}

Status Service::check_control(const Owner& owner, std::uint64_t handle, const Caller& caller,
                              std::string_view what) {
  SLUICE_TRY(check_owner(owner.session, handle, caller, what));
  const bool may = owner.session != terms::kNobody || account_of(caller.peer) == owner.account ||
                   is_administrator(caller.peer);
  if (may) return ok_status();
  return Status(
      Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
      fmt::format("{} {:#x} was made by {}, and this client is {}: only its maker and root "
                  "may change it",
                  what, handle, owner.account.empty() ? "several clients" : owner.account,
                  account_of(caller.peer)));
}

Status Service::check_control(const Owners& owners, std::uint64_t handle, const Caller& caller,
                              std::string_view what) const {
  SLUICE_TRY(check_owner(owners, handle, caller, what));
  const std::shared_lock lock(owners_mutex_);
  const auto it = owners.find(handle);
  return it == owners.end() ? ok_status() : check_control(it->second, handle, caller, what);
}

// ---- sessions

void Service::add_owner(const ClientSession& session) {
  exchange_.add(session.owner(), session.memory().exchange);
  if (replies_ != nullptr) replies_->add(session.owner(), session.memory());
}

Result<std::shared_ptr<ClientSession>> Service::open_session(std::string client, terms::Peer peer) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(terms::with_runtime_code(check_name(client, "client"), RuntimeCode::kInvalid));
  auto session =
      SLUICE_TRY(sessions_.open(std::move(client), std::move(peer), system_clock().now_ns()));
  add_owner(*session);  // before the client has the token
  posted_replies_->add(session->shared_posted(), exchange_);
  log_.add(LogLevel::kInfo, "session.open id={} process={} user={} address={} client={}",
           static_cast<std::uint64_t>(session->id()), session->peer().process, session->peer().user,
           in_quotes(session->peer().address), in_quotes(session->client()));
  return session;
}

Result<Caller> Service::caller_of(terms::Role role, std::string_view token,
                                  terms::Peer peer) const {
  SLUICE_TRY(authorize(peer, role));
  // Clients without a session share one per account, so that the quotas hold for them together.
  auto session = token.empty() ? common_.of(account_of(peer)) : sessions_.find(token);
  // A token is valid for its own user only.
  const bool is_own = session == nullptr || token.empty() || is_administrator(peer) ||
                      has_same_account(session->peer(), peer);
  if (session != nullptr && is_own) return Caller{std::move(session), std::move(peer)};
  return Status(Code::kUnauthenticated, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                "no open session has this token; it ended, or the daemon was started anew");
}

void Service::reclaim(const std::shared_ptr<ClientSession>& session, const Status& reason) {
  // First of all: from here on nothing is added to the session, so `held` is complete but for loads
  // under way.
  ClientSession::Holdings held = session->close(reason);
  for (const ClientSession::HeldRegion& region : held.regions) {
    // Before the models: the ring's thread sends requests to them.
    if (region.stop_ring) region.stop_ring();
  }
  drop_profiles(session->id());
  session->wait_for_loads();  // which find the session closed and leave nothing behind
  for (const terms::ModelHandle model : held.models) {
    const auto served = models_.find(model);
    if (!served.is_ok()) continue;  // the session itself unloads it at the same time
    const auto info = served->host->info(model);
    const auto watched = watch(*served->host, model, "the end of a session, with", 0);
    (void)served->host->unload(model, 0);  // the same
    if (info.is_ok()) forget_model(model, *info, Caller{session, {}});
  }
  exchange_.drop(session->owner());
  for (const terms::CoreGroupId group : held.groups) {
    const Status status = destroy(group);
    if (!status.is_ok() && status.code() != Code::kNotFound) {
      log_.add(LogLevel::kError, "session.leak group={} reason={}", group.value(),
               in_quotes(status.message()));
    }
    const std::unique_lock lock(owners_mutex_);
    group_owners_.erase(number_of(group));
  }
  log_.add(LogLevel::kInfo, "session.close id={} models={} groups={} reason={}",
           static_cast<std::uint64_t>(session->id()), held.models.size(), held.groups.size(),
           in_quotes(reason.message()));
}

void Service::close_session(terms::SessionId id, const Status& reason) {
  const auto session = sessions_.find(id);
  // remove() is true for one caller only: a client's close and an administrator's kill reclaim
  // once.
  if (session != nullptr && sessions_.remove(id)) reclaim(session, reason);
}

Status Service::kill_session(const Caller& caller, terms::SessionId id) {
  const auto session = sessions_.find(id);
  if (session == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "no session {} is open",
                                static_cast<std::uint64_t>(id));
  }
  const std::string account = account_of(caller.peer);
  const bool may = session == caller.session || is_administrator(caller.peer) ||
                   account == account_of(session->peer());
  if (!may) {
    return Status(
        Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
        fmt::format("session {} belongs to {}, and this client is {}: only its owner and "
                    "root may end it",
                    static_cast<std::uint64_t>(id), account_of(session->peer()), account));
  }
  close_session(id, make_error(Code::kAborted, "session {} was closed by {}, process {}",
                               static_cast<std::uint64_t>(id), account, caller.peer.process));
  return ok_status();
}

std::vector<terms::SessionInfo> Service::list_sessions() const {
  const std::int64_t now_ns = system_clock().now_ns();
  std::vector<terms::SessionInfo> infos;
  for (const auto& session : sessions_.all()) infos.push_back(session->info(now_ns));
  return infos;
}

// ---- groups

Status Service::destroy(terms::CoreGroupId group) {
  const bool has_worker = workers_ != nullptr && workers_->owns(group);
  return has_worker ? workers_->destroy_group(group) : engine_.destroy_group(group);
}

Status Service::check_workers() const {
  if (workers_ != nullptr) return ok_status();
  return terms::runtime_error(RuntimeCode::kInvalid,
                              "isolation: there are no worker processes here; ask for \"stream\"");
}

terms::Isolation Service::default_isolation(const Caller& caller) const {
  const ServiceOptions options = this->options();
  const bool is_other = options.isolates_others && !is_administrator(caller.peer);
  return is_other ? terms::Isolation::kProcess : options.isolation;
}

Result<terms::GroupEntry> Service::create_group(const Caller& caller,
                                                const terms::CoreRequest& request,
                                                std::optional<terms::Isolation> isolation) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  const bool is_process =
      isolation.value_or(default_isolation(caller)) == terms::Isolation::kProcess;
  if (is_process) SLUICE_TRY(check_workers());
  const terms::CoreGroupId id =
      SLUICE_TRY(is_process ? workers_->create_group(request) : engine_.create_group(request));
  terms::GroupEntry entry = {{}, caller.session->id()};
  for (terms::GroupInfo& info : all_groups()) {
    if (info.id == id) entry.info = std::move(info);
  }
  {
    const std::unique_lock lock(owners_mutex_);
    group_owners_[number_of(id)] = {caller.session->id(), account_of(caller.peer)};
  }
  const auto num_cores = static_cast<std::int32_t>(entry.info.cores.size());
  // The group exists before it is entered, so a session that closes meanwhile cannot miss it:
  // add_group fails then.
  const Status status = caller.session->add_group(id, num_cores);
  if (!status.is_ok()) {
    (void)destroy(id);  // it is ours and empty
    const std::unique_lock lock(owners_mutex_);
    group_owners_.erase(number_of(id));
    return status;
  }
  log_.add(LogLevel::kInfo, "group.create group={} cores={} session={} by={}", id.value(),
           num_cores, static_cast<std::uint64_t>(caller.session->id()), by(caller));
  return entry;
}

Status Service::destroy_group(const Caller& caller, terms::CoreGroupId group) {
  SLUICE_TRY(check_session(caller));
  SLUICE_TRY(check_control(group_owners_, number_of(group), caller, "group"));
  // Read before the entry is erased.
  const terms::SessionId owned_by = owner(group_owners_, number_of(group));
  SLUICE_TRY(destroy(group));
  with_lock(owners_mutex_, [&] { group_owners_.erase(number_of(group)); });
  if (owned_by == terms::kNobody) {
    common_.remove_group(group);
  } else {
    caller.session->remove_group(group);
  }
  log_.add(LogLevel::kInfo, "group.destroy group={} session={} by={}", group.value(),
           static_cast<std::uint64_t>(caller.session->id()), by(caller));
  return ok_status();
}

std::vector<terms::GroupEntry> Service::list_groups() const {
  std::vector<terms::GroupEntry> entries;
  for (terms::GroupInfo& info : all_groups()) {
    const terms::SessionId session = owner(group_owners_, number_of(info.id));
    entries.push_back({std::move(info), session});
  }
  return entries;
}

// ---- the end

void Service::start_draining() {
  announce_drain();
  is_draining_ = true;
}

void Service::shutdown(std::int64_t drain_ns) {
  start_draining();
  stop_pulls_.request_stop();
  sessions_.close();
  // All parts share one deadline, so that their drains overlap.
  const std::int64_t deadline_ns = drain_deadline_ns(drain_ns);
  std::string what = "the end of the daemon";
  for (const HostedModel& model : all_models()) what += ", model " + in_quotes(model.info.name);
  const auto watched = watchdog_.watch(std::move(what), hang_ns(drain_ns));
  hosts_.shutdown(deadline_ns);
  const Status reason = make_error(Code::kUnavailable, "the daemon is shutting down");
  for (const auto& session : sessions_.all()) close_session(session->id(), reason);
}

Watchdog::Watch Service::watch(const runtime::ModelHost& host, terms::ModelHandle model,
                               std::string_view what, std::int64_t drain_ns) {
  const auto info = host.info(model);
  const std::string name = info.is_ok() ? in_quotes(info->name) : "";
  return watchdog_.watch(
      fmt::format("{} model {:#x} {}", what, static_cast<std::uint64_t>(model), name),
      // A worker that hangs is killed; only in this process can nothing end a thread.
      &host == workers_ || functions_->is_in_cell(model) ? 0 : hang_ns(drain_ns));
}

std::int64_t Service::hang_ns(std::int64_t drain_ns) const {
  const ServiceOptions options = this->options();
  if (options.hang_limit_ns == 0) return 0;
  return std::clamp<std::int64_t>(drain_ns, 0, options.drain_limit_ns) + options.hang_limit_ns;
}

std::int64_t Service::drain_deadline_ns(std::int64_t drain_ns) const {
  if (drain_ns <= 0) return 0;
  return engine_.clock().now_ns() + std::min(drain_ns, options().drain_limit_ns);
}

}  // namespace sluice::service
