// The part of Service that is about models and requests.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "exec/random/random_source.h"
#include "package/executable.h"
#include "runtime/engine.h"
#include "runtime/model/request_name.h"
#include "runtime/packages/package_cache.h"
#include "service/sequences/sequence_model.h"
#include "service/service.h"
#include "service/table/model_by_name.h"
#include "worker/pool.h"

namespace sluice::service {

using terms::ModelHandle;

namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [left, right] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return left == folder.end() && right != path.end();
}

/// Where files may lie that a client names by path.
struct AllowedFolders {
  const std::vector<fs::path>& folders;
  std::string_view contents;  ///< "models are loaded by path"
  std::string_view folder;    ///< "model folder"
  std::string_view remedy;
};

/// The file itself, without links. Fails: kPermissionDenied, kNotFound.
Result<fs::path> check_path(const fs::path& path, const AllowedFolders& allowed) {
  const std::vector<fs::path>& folders = allowed.folders;
  const auto denied = [&](std::string_view why) {
    std::string list;
    for (const fs::path& folder : folders) list += (list.empty() ? "" : ", ") + folder.string();
    return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                  fmt::format("\"{}\" {}; {} from {}; {}", path.string(), why, allowed.contents,
                              list.empty() ? "nowhere" : list, allowed.remedy));
  };
  if (!path.is_absolute()) return denied("is not an absolute path");
  if (path.native().find('\0') != std::string::npos) return denied("holds a zero byte");
  // The check precedes every access to the file: an answer must not reveal whether a file outside
  // the allowed folders exists.
  const auto is_allowed = [&](const fs::path& candidate) {
    return std::ranges::any_of(folders, [&](const fs::path& f) { return is_inside(candidate, f); });
  };
  if (!is_allowed(path.lexically_normal()))
    return denied(fmt::format("is in no {}", allowed.folder));
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) {
    return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                  fmt::format("\"{}\": {}", path.string(), error.message()));
  }
  if (!is_allowed(real)) return denied(fmt::format("leads out of the {}s", allowed.folder));
  return real;
}

Status check_names(std::span<const std::string> names, std::string_view what) {
  for (const std::string& name : names) {
    SLUICE_TRY(terms::with_runtime_code(check_name(name, what), RuntimeCode::kInvalid));
  }
  return ok_status();
}

Status check_names(const terms::Signature& signature) {
  for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
    for (const terms::TensorSpec& tensor : *tensors) {
      SLUICE_TRY(check_names({&tensor.name, 1}, "tensor"));
    }
  }
  return ok_status();
}

/// A function keeps its priority for good: a lower one than its owner asked for would surprise.
Status check_priority(const terms::LoadOptions& options, const terms::Roles& roles) {
  if (!options.function || options.function->priority <= roles.max_priority()) return ok_status();
  return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kFailed),
                fmt::format("priority {}: the roles of this client allow {} at most",
                            options.function->priority, roles.max_priority()));
}

}  // namespace

Result<ServedModel> Service::find_own(const Caller& caller, ModelHandle model) const {
  SLUICE_TRY(check_session(caller));
  ServedModel served = SLUICE_TRY(models_.find(model));
  SLUICE_TRY(check_owner(served.owner, static_cast<std::uint64_t>(model), caller, "model"));
  return served;
}

Result<ServedModel> Service::find_to_control(const Caller& caller, ModelHandle model) const {
  ServedModel served = SLUICE_TRY(find_own(caller, model));
  const Owner owner = {served.owner, served.account};
  SLUICE_TRY(check_control(owner, static_cast<std::uint64_t>(model), caller, "model"));
  return served;
}

Result<runtime::LoadRequest> Service::load_request(
    const terms::LoadOptions& options, const PackageFile& file,
    std::shared_ptr<const package::Executable> executable) const {
  runtime::LoadRequest request = load_request(options);
  const ServiceOptions service = this->options();
  if (options.function && options.function->program) {
    if (executable != nullptr) {
      return terms::runtime_error(RuntimeCode::kInvalid,
                                  "a program is not uploaded; name one of the daemon's");
    }
    request.path = SLUICE_TRY(
        check_path(file.path, {service.program_folders, "programs are deployed", "program folder",
                               "the operator's setting program_folders says where"}));
    return request;
  }
  if (executable == nullptr) {
    request.path =
        SLUICE_TRY(check_path(file.path, {service.model_folders, "models are loaded by path",
                                          "model folder", "upload this one"}));
    request.is_path_real = true;
    if (!file.version.empty() && file_version(request.path) != file.version) {
      return make_error(Code::kNotFound,
                        "\"{}\" is another file for the daemon than for the client: upload it",
                        file.path.string());
    }
  }
  request.executable = std::move(executable);
  return request;
}

runtime::LoadRequest Service::load_request(const terms::LoadOptions& options) const {
  runtime::LoadRequest request(options);
  if (!request.max_run_ns) request.max_run_ns = this->options().max_run_ns;
  if (options.seed) request.random = exec::RandomSource::create(options.seed);
  return request;
}

/// The functions', an explicit group's, or that of the isolation asked for.
Result<runtime::ModelHost*> Service::host_for(const terms::LoadOptions& options) {
  if (options.function) {
    if (options.isolation == terms::Isolation::kProcess) SLUICE_TRY(check_workers());
    return functions_.get();
  }
  bool is_process =
      options.isolation.value_or(this->options().isolation) == terms::Isolation::kProcess;
  if (options.group) {
    is_process = workers_ != nullptr && workers_->owns(*options.group);
    if (options.isolation && (*options.isolation == terms::Isolation::kProcess) != is_process) {
      return terms::runtime_error(RuntimeCode::kInvalid,
                                  "isolation: group {} has its own; leave it out of the load",
                                  options.group->value());
    }
  }
  if (!is_process) return &engine_;
  SLUICE_TRY(check_workers());
  return workers_;
}

Result<terms::ModelEntry> Service::load(const Caller& caller, const terms::LoadOptions& wanted,
                                        const PackageFile& file,
                                        std::shared_ptr<const package::Executable> executable,
                                        int package_fd) {
  SLUICE_TRY(check_session(caller));
  SLUICE_TRY(check_priority(wanted, access_.roles_of(caller.peer)));
  terms::LoadOptions options = wanted;
  // Written down, so that a deployment that comes back has the same.
  const bool says_nothing = !options.isolation && !options.group;
  if (says_nothing && this->options().isolates_others) {
    options.isolation = default_isolation(caller);
  }
  auto request = SLUICE_TRY(load_request(options, file, std::move(executable)));
  request.package_fd = package_fd;
  const auto package = request.executable;
  auto entry = SLUICE_TRY(load(caller, options, std::move(request)));
  if (options.group) return entry;
  return keep(caller, std::move(entry),
              {options, file.path, package, package_fd, std::nullopt, caller.peer});
}

/// Only what outlives its client is kept: a session's models go with it.
Result<terms::ModelEntry> Service::keep(const Caller& caller, terms::ModelEntry entry,
                                        const Deployment& deployment) {
  if (!events_.on_deploy || caller.session->id() != terms::kNobody) return entry;
  const ModelHandle handle{entry.info.handle};
  const Status kept = events_.on_deploy(handle, deployment);
  if (!kept.is_ok()) {
    (void)unload(caller, handle, 0);  // another client was first
    return kept;
  }
  if (!models_.find(handle).is_ok()) events_.on_remove(handle);  // unloaded meanwhile
  return entry;
}

Caller Service::own_caller() const {
  return {common_.of_daemon(), {"", getpid(), static_cast<std::int64_t>(geteuid()), -1}};
}

Result<std::shared_ptr<runtime::RequestSink>> Service::step_of(
    const std::string& name, std::optional<std::int64_t> version) const {
  return std::shared_ptr<runtime::RequestSink>(
      SLUICE_TRY(ModelByName::find(models_, name, version)));
}

/// Whether it answers requests. One on demand that sleeps does; functions and graphs always try.
bool Service::answers(const ServedModel& served, ModelHandle model) const {
  const auto info = served.host->info(model);
  if (!info.is_ok() || info->phase == terms::ModelPhase::kFailed) return false;
  if (served.host == functions_.get() || served.host == graphs_.get()) return true;
  return info->phase != terms::ModelPhase::kLoaded && info->phase != terms::ModelPhase::kStopped;
}

std::optional<std::string> Service::missing_step(ModelHandle model) const {
  std::set<ModelHandle> seen = {model};
  std::vector<ModelHandle> left = {model};
  while (!left.empty()) {
    const auto served = models_.find(left.back());
    left.pop_back();
    if (!served.is_ok()) continue;  // unloaded meanwhile
    for (const terms::EnsembleStep& step : served->ref->declared().steps) {
      const auto found = models_.find(step.model, {step.version}, terms::kNobody);
      if (!found.is_ok() || !answers(found->served, found->handle)) return step.model;
      if (seen.insert(found->handle).second) left.push_back(found->handle);
    }
  }
  return std::nullopt;
}

Result<terms::ModelEntry> Service::load_own(const OwnModel& own) {
  if (own.graph) {
    SLUICE_TRY(check_ready());
    const Caller caller = own_caller();
    const ClientSession::Load load = SLUICE_TRY(caller.session->enter_load());
    return enter_loaded(caller, *graphs_, graphs_->add(own.graph->request, own.graph->plan), own);
  }
  runtime::LoadRequest request = load_request(own.options);
  request.path = own.path;
  request.executable = own.executable;
  request.package_fd = own.package_fd;
  request.where.num_cores = own.most_cores;
  return load(own_caller(), own.options, std::move(request), own);
}

Status Service::retire_own(ModelHandle model) {
  const std::int64_t drain_ns = options().drain_limit_ns;
  const std::int64_t deadline_ns = deadline_after(system_clock(), drain_ns);
  const std::weak_ptr<dispatch::ModelRef> ref = SLUICE_TRY(models_.find(model)).ref;
  models_.remove_name(model);
  // A request may have found the model and not been submitted yet: it and those in flight share
  // the reference with the table.
  while (ref.use_count() > 1 && system_clock().now_ns() < deadline_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return unload(own_caller(), model, drain_ns);
}

Result<terms::ModelEntry> Service::deploy_again(const Deployment& deployment) {
  const Caller caller{common_.of(account_of(deployment.by)), deployment.by};
  if (deployment.graph) return deploy_graph(caller, *deployment.graph);
  return load(caller, deployment.options, {deployment.path}, deployment.executable,
              deployment.package_fd);
}

Result<terms::ModelEntry> Service::load(const Caller& caller, const terms::LoadOptions& options,
                                        runtime::LoadRequest request, const OwnModel& own) {
  SLUICE_TRY(check_ready());
  const std::string name = runtime::name_of(request);
  SLUICE_TRY(check_names({&name, 1}, "model"));
  if (options.group) {
    const auto group = static_cast<std::uint64_t>(options.group->value());
    SLUICE_TRY(check_owner(group_owners_, group, caller, "group"));
  }
  runtime::ModelHost* host = SLUICE_TRY(host_for(options));
  request.payer = caller.session->memory().models;
  request.may_share = host == &engine_ && this->options().shares_cores;  // a worker owns its cores
  const ClientSession::Load load = SLUICE_TRY(caller.session->enter_load());
  auto entry = enter_loaded(caller, *host,
                            load_on(*host, request, options, caller.session->stop_token()), own);
  if (entry.is_ok() && host != workers_)
    remember_executable(ModelHandle{entry->info.handle}, request);
  return entry;
}

/// Its host keeps the package open, so this opens nothing again.
void Service::remember_executable(ModelHandle model, const runtime::LoadRequest& request) {
  if (request.function && request.function->program) return;  // it has no package
  const auto package = engine_.open(request);
  if (!package.is_ok()) return;  // the file is another one by now
  const auto executable = (*package)->executable();
  if (executable.is_ok()) models_.set_executable(model, *executable);
}

Result<std::shared_ptr<const package::Executable>> Service::executable(const Caller& caller,
                                                                       ModelHandle model) const {
  SLUICE_TRY(find_model(caller, model));
  auto executable = SLUICE_TRY(models_.find(model)).executable.lock();
  if (executable != nullptr) return executable;
  return make_error(Code::kUnavailable,
                    "model {:#x} runs in a worker process, which has its package; `sluice inspect` "
                    "shows that of a file",
                    static_cast<std::uint64_t>(model));
}

/// The end of a load that the session has entered: a session that ends waits for it, and then finds
/// the model among its holdings.
Result<terms::ModelEntry> Service::enter_loaded(const Caller& caller, runtime::ModelHost& host,
                                                Result<ModelHandle> model, const OwnModel& own) {
  Result<terms::ModelEntry> entry = model.is_ok() ? enter_model(caller, host, *model, own)
                                                  : Result<terms::ModelEntry>(model.status());
  if (!entry.is_ok()) {
    log_.add(LogLevel::kWarning, "model.load_failed session={} reason={}",
             static_cast<std::uint64_t>(caller.session->id()), in_quotes(entry.status().message()));
    return entry;
  }
  log_.add(LogLevel::kInfo, "model.load model={:#x} name={} group={} session={} by={}",
           entry->info.handle, in_quotes(entry->info.name), entry->info.group.value(),
           static_cast<std::uint64_t>(caller.session->id()), in_quotes(account_of(caller.peer)));
  return entry;
}

Result<terms::ModelEntry> Service::deploy_graph(const Caller& caller, terms::GraphRequest request) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  SLUICE_TRY(sandbox::check_size(request));
  if (request.name.empty()) request.name = "graph";
  SLUICE_TRY(check_names({&request.name, 1}, "graph"));
  for (const terms::GraphNode& node : request.nodes) {  // a graph keeps them from being removed
    SLUICE_TRY(find_to_control(caller, node.function).with_context(node.name.substr(0, 64)));
  }
  terms::GraphRequest wanted = request;
  auto entry = SLUICE_TRY(enter_graph(caller, std::move(request)));
  Deployment deployment;
  deployment.options.name = wanted.name;
  deployment.graph = std::move(wanted);
  deployment.by = caller.peer;
  return keep(caller, std::move(entry), deployment);
}

Result<terms::ModelEntry> Service::enter_graph(const Caller& caller, terms::GraphRequest request) {
  const ClientSession::Load load = SLUICE_TRY(caller.session->enter_load());
  return enter_loaded(caller, *graphs_, graphs_->deploy(std::move(request)));
}

Result<ModelHandle> Service::load_on(runtime::ModelHost& host, const runtime::LoadRequest& request,
                                     const terms::LoadOptions& options,
                                     const std::stop_token& stop) {
  if (options.function) {
    return functions_->deploy(request, *options.function,
                              options.isolation.value_or(terms::Isolation::kStream));
  }
  return host.load(request, stop);
}

terms::ModelEntry Service::describe(terms::ModelInfo info, terms::SessionId session,
                                    const terms::Signature& signature) const {
  const auto state = functions_->state(ModelHandle{info.handle});
  terms::ModelEntry entry{std::move(info), session, signature};
  if (state.is_ok()) entry.function = *state;
  auto graph = graphs_->state(ModelHandle{entry.info.handle});
  if (graph.is_ok()) entry.graph = std::move(*graph);
  return entry;
}

/// What a model's configuration puts in front of it. A model that cannot have it is gone.
Result<Service::Front> Service::front_of(runtime::ModelHost& host, ModelHandle model,
                                         const std::string& name,
                                         const terms::DeclaredModel* declared) {
  Front front;
  front.sink = SLUICE_TRY(host.sink(model));
  if (declared == nullptr) return front;
  front.has_sequences = declared->sequences.has_value();
  if (front.has_sequences) {
    auto sequences = SequenceModel::create(name, front.sink, *declared, &exchange_);
    if (!sequences.is_ok()) {
      (void)host.unload(model, 0);  // nobody else knows the handle
      return sequences.status();
    }
    front.sink = *sequences;
  }
  if (replies_ != nullptr && declared->keeps_replies) {
    front.sink = front.replying = ReplyingModel::create(front.sink, replies_);
  }
  return front;
}

/// The model is the session's from now on, or gone.
Result<terms::ModelEntry> Service::enter_model(const Caller& caller, runtime::ModelHost& host,
                                               ModelHandle model, const OwnModel& own) {
  const terms::ModelInfo info = SLUICE_TRY(host.info(model));
  Front front = SLUICE_TRY(front_of(host, model, info.name, own.declared.get()));
  // Inputs of a sequence have other places than the model's. No client may change an input between
  // its digest and the run.
  const bool copies_inputs = front.has_sequences || front.replying != nullptr;
  auto ref = std::make_shared<dispatch::ModelRef>(
      front.sink, copies_inputs ? std::vector<bool>() : info.in_place_inputs, &host != &engine_,
      own.version, info.name, own.declared);
  if (own.prepare) {
    const Status prepared = own.prepare(*ref);
    if (!prepared.is_ok()) {
      (void)host.unload(model, 0);  // nobody else knows the handle
      return prepared;
    }
  }
  std::int32_t num_cores = 0;
  if (info.is_implicit) {
    for (const terms::GroupInfo& group : engine_.list_groups()) {
      const bool is_made_by_it = group.id == info.group && group.num_models == 1;
      // A model that shares another's group costs the session no cores of its own.
      if (is_made_by_it) num_cores = static_cast<std::int32_t>(group.cores.size());
    }
    // A group that several sessions' models share belongs to nobody.
    const std::unique_lock lock(owners_mutex_);
    const auto [owner, is_new] =
        group_owners_.try_emplace(static_cast<std::uint64_t>(info.group.value()),
                                  Owner{caller.session->id(), account_of(caller.peer)});
    if (owner->second.session != caller.session->id()) owner->second = {};
  }
  const terms::SessionId session = caller.session->id();
  terms::ModelEntry entry = describe(info, session, front.sink->signature());
  entry.version = own.version;
  // Before the session has it: a session that closes now makes add_model fail, and the model goes
  // again.
  models_.add(model, {info.name,
                      own.version,
                      session,
                      account_of(caller.peer),
                      &host,
                      std::move(ref),
                      {},
                      std::move(front.replying)});
  Status status = check_names(entry.signature);
  if (status.is_ok()) status = caller.session->add_model(model, num_cores);
  if (status.is_ok()) return entry;
  (void)host.unload(model, 0);  // nobody else knows the handle
  forget_model(model, info, caller);
  return status;
}

void Service::forget_model(ModelHandle model, const terms::ModelInfo& info, const Caller& caller) {
  const auto served = models_.remove(model);
  if (!served) return;  // another thread was first
  if (events_.on_remove) events_.on_remove(model);
  if (info.is_implicit && engine_.find_group(info.group) == nullptr) {
    const std::unique_lock lock(owners_mutex_);
    group_owners_.erase(static_cast<std::uint64_t>(info.group.value()));
  }
  if (served->owner == terms::kNobody) {
    common_.remove_model(model);
  } else {
    caller.session->remove_model(model);
  }
}

Result<terms::Footprint> Service::estimate(const terms::LoadOptions& options,
                                           const PackageFile& file,
                                           std::shared_ptr<const package::Executable> executable) {
  return engine_.estimate(SLUICE_TRY(load_request(options, file, std::move(executable))));
}

/// After every call that may have changed the model's phase, failed ones too.
void Service::update_replying(const ServedModel& served, ModelHandle model) const {
  if (served.replying == nullptr) return;
  served.replying->update_replying([&] { return answers(served, model); });
}

Status Service::start(const Caller& caller, ModelHandle model) {
  SLUICE_TRY(check_ready());
  const ServedModel served = SLUICE_TRY(find_to_control(caller, model));
  const Status status = served.host->start(model);
  update_replying(served, model);
  return status;
}

Status Service::stop(const Caller& caller, ModelHandle model, std::int64_t drain_ns) {
  const ServedModel served = SLUICE_TRY(find_to_control(caller, model));
  runtime::ModelHost& host = *served.host;
  if (served.replying != nullptr) served.replying->stop_replying();
  const auto watched = watch(host, model, "a stop of", drain_ns);
  const Status status = host.stop(model, drain_deadline_ns(drain_ns));
  update_replying(served, model);
  return status;
}

Status Service::unload(const Caller& caller, ModelHandle model, std::int64_t drain_ns) {
  const ServedModel served = SLUICE_TRY(find_to_control(caller, model));
  runtime::ModelHost& host = *served.host;
  const terms::ModelInfo info = SLUICE_TRY(host.info(model));
  SLUICE_TRY(graphs_->check_unused(model).with_context(info.name));
  // A session that ends waits for it: until the model is gone its group cannot go.
  const ClientSession::Load load = SLUICE_TRY(caller.session->enter_load());
  if (served.replying != nullptr) served.replying->stop_replying();
  const auto watched = watch(host, model, "an unload of", drain_ns);
  const Status unloaded = host.unload(model, drain_deadline_ns(drain_ns));
  update_replying(served, model);
  if (!unloaded.is_ok()) return unloaded;
  forget_model(model, info, caller);
  log_.add(LogLevel::kInfo, "model.unload model={:#x} name={} session={} by={}", info.handle,
           in_quotes(info.name), static_cast<std::uint64_t>(caller.session->id()),
           in_quotes(account_of(caller.peer)));
  return ok_status();
}

Status Service::reset(const Caller& caller, ModelHandle model) {
  SLUICE_TRY(check_ready());
  const ServedModel served = SLUICE_TRY(find_to_control(caller, model));
  if (served.replying != nullptr) served.replying->stop_replying();  // a failed one becomes stopped
  const Status status = served.host->reset(model);
  update_replying(served, model);
  return status;
}

/// All, or the one with this handle.
Result<std::vector<Service::HostedModel>> Service::select_models(std::uint64_t model) const {
  if (model == 0) return all_models();
  const ModelHandle handle{model};
  const ServedModel served = SLUICE_TRY(models_.find(handle));
  terms::ModelInfo info = SLUICE_TRY(served.host->info(handle));
  return std::vector<HostedModel>{{served.host, std::move(info), served.version}};
}

Result<std::vector<terms::ModelEntry>> Service::list_models(std::uint64_t model) const {
  std::vector<terms::ModelEntry> entries;
  for (HostedModel& hosted : SLUICE_TRY(select_models(model))) {
    const ModelHandle handle{hosted.info.handle};
    const auto sink = hosted.host->sink(handle);
    if (!sink.is_ok()) continue;               // unloaded meanwhile
    const auto served = models_.find(handle);  // not there while it is being loaded
    const terms::SessionId session = served.is_ok() ? served->owner : terms::kNobody;
    const bool has_ref = served.is_ok() && served->ref != nullptr;
    const terms::Signature& signature = has_ref ? served->ref->signature() : (*sink)->signature();
    entries.push_back(describe(std::move(hosted.info), session, signature));
    entries.back().version = hosted.version;
  }
  return entries;
}

Result<std::shared_ptr<dispatch::ModelRef>> Service::find_model(const Caller& caller,
                                                                ModelHandle model) const {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(authorize(caller.peer, terms::Role::kInference));
  return SLUICE_TRY(find_own(caller, model)).ref;
}

Result<std::shared_ptr<dispatch::ModelRef>> Service::find_model(
    const Caller& caller, std::string_view name, const dispatch::VersionChoice& version) const {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(authorize(caller.peer, terms::Role::kInference));
  SLUICE_TRY(check_session(caller));
  // In one step: between two, an update could take the model away.
  return SLUICE_TRY(models_.find_for_request(name, version, caller.session->id())).served.ref;
}

Result<Admission> Service::admit(std::string_view token, terms::Peer peer,
                                 ModelHandle model) const {
  Caller caller = SLUICE_TRY(caller_of(terms::Role::kInference, token, std::move(peer)));
  auto ref = SLUICE_TRY(find_model(caller, model));
  dispatch::RequestLimits limits = limits_of(caller);
  return Admission{std::move(caller), std::move(ref), std::move(limits), {}};
}

}  // namespace sluice::service
