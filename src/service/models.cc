// The part of Service that is about models and requests.
#include <algorithm>
#include <system_error>
#include <utility>

#include "service/service.h"
#include "worker/pool.h"

namespace sluice::service {

using runtime::ModelHandle;
using runtime::RuntimeCode;

namespace {

namespace fs = std::filesystem;

std::uint64_t number_of(ModelHandle model) { return static_cast<std::uint64_t>(model); }

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [left, right] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return left == folder.end() && right != path.end();
}

/// The file itself, without links. Fails: kPermissionDenied, kNotFound.
Result<fs::path> check_path(const fs::path& path, const std::vector<fs::path>& folders) {
  const auto denied = [&](std::string_view why) {
    std::string list;
    for (const fs::path& folder : folders) list += (list.empty() ? "" : ", ") + folder.string();
    return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                  fmt::format("\"{}\" {}; models are loaded by path from {}; upload this one",
                              path.string(), why, list.empty() ? "nowhere" : list));
  };
  if (!path.is_absolute()) return denied("is not an absolute path");
  if (path.native().find('\0') != std::string::npos) return denied("holds a zero byte");
  // Checked before the file is looked at, so that nothing is told of files elsewhere.
  const auto is_allowed = [&](const fs::path& candidate) {
    return std::ranges::any_of(folders, [&](const fs::path& f) { return is_inside(candidate, f); });
  };
  if (!is_allowed(path.lexically_normal())) return denied("is in no model folder");
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) {
    return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                  fmt::format("\"{}\": {}", path.string(), error.message()));
  }
  if (!is_allowed(real)) return denied("leads out of the model folders");
  return real;
}

}  // namespace

Status Service::check_model(const Caller& caller, ModelHandle model) const {
  return check_owner(model_owners_, number_of(model), caller, "model");
}

Result<runtime::LoadRequest> Service::load_request(
    const LoadOptions& options, const fs::path& path,
    std::shared_ptr<const package::Executable> executable) const {
  runtime::LoadRequest request;
  if (executable == nullptr)
    request.path = SLUICE_TRY(check_path(path, this->options().model_folders));
  request.executable = std::move(executable);
  request.name = options.name;
  request.group = options.group;
  request.depth = options.depth;
  request.nan_policy = options.flags_nan ? runtime::NanPolicy::kFlag : runtime::NanPolicy::kPass;
  return request;
}

/// An explicit group's, or that of the isolation asked for.
Result<runtime::ModelHost*> Service::host_for(const LoadOptions& options) const {
  bool is_process =
      options.isolation.value_or(this->options().isolation) == runtime::Isolation::kProcess;
  if (options.group) {
    is_process = workers_ != nullptr && workers_->owns(*options.group);
    if (options.isolation && (*options.isolation == runtime::Isolation::kProcess) != is_process) {
      return runtime_error(RuntimeCode::kInvalid,
                           "isolation: group {} has its own; leave it out of the load",
                           options.group->value());
    }
  }
  if (!is_process) return &engine_;
  SLUICE_TRY(check_workers());
  return workers_;
}

Result<ModelEntry> Service::load(const Caller& caller, const LoadOptions& options,
                                 const fs::path& path,
                                 std::shared_ptr<const package::Executable> executable,
                                 int package_fd) {
  SLUICE_TRY(check_ready());
  if (options.group) {
    const auto group = static_cast<std::uint64_t>(options.group->value());
    SLUICE_TRY(check_owner(group_owners_, group, caller, "group"));
  }
  runtime::ModelHost* host = SLUICE_TRY(host_for(options));
  auto request = SLUICE_TRY(load_request(options, path, std::move(executable)));
  request.package_fd = package_fd;
  SLUICE_TRY(caller.session->enter_load());
  auto model = host->load(request, caller.session->stop_token());
  Result<ModelEntry> entry =
      model.is_ok() ? enter_model(caller, *model) : Result<ModelEntry>(model.status());
  caller.session->leave_load();
  if (!entry.is_ok()) {
    log_.add(LogLevel::kWarning, "model.load_failed session={} reason={}",
             static_cast<std::uint64_t>(caller.session->id()), in_quotes(entry.status().message()));
    return entry;
  }
  log_.add(LogLevel::kInfo, "model.load model={:#x} name={} group={} session={}",
           entry->info.handle, in_quotes(entry->info.name), entry->info.group.value(),
           static_cast<std::uint64_t>(caller.session->id()));
  return entry;
}

/// The model is the session's from now on, or gone.
Result<ModelEntry> Service::enter_model(const Caller& caller, ModelHandle model) {
  const runtime::ModelInfo info = SLUICE_TRY(host_of(model).info(model));
  std::int32_t num_cores = 0;
  if (info.is_implicit) {
    for (const runtime::GroupInfo& group : engine_.list_groups()) {
      if (group.id == info.group) num_cores = static_cast<std::int32_t>(group.cores.size());
    }
  }
  {
    const std::unique_lock lock(owners_mutex_);
    model_owners_[info.handle] = caller.session->id();
    in_place_inputs_[info.handle] = std::make_shared<const std::vector<bool>>(info.in_place_inputs);
    if (info.is_implicit) {
      group_owners_[static_cast<std::uint64_t>(info.group.value())] = caller.session->id();
    }
  }
  const Status status = caller.session->add_model(model, num_cores);
  if (status.is_ok()) return entry_of(info);
  const Status undone = host_of(model).unload(model, 0);
  (void)undone;  // nobody else knows the handle
  forget_model(model, info, caller);
  return status;
}

void Service::forget_model(ModelHandle model, const runtime::ModelInfo& info,
                           const Caller& caller) {
  SessionId owned_by = kNobody;
  {
    const std::unique_lock lock(owners_mutex_);
    const auto it = model_owners_.find(number_of(model));
    if (it == model_owners_.end()) return;
    owned_by = it->second;
    model_owners_.erase(it);
    in_place_inputs_.erase(number_of(model));
    if (info.is_implicit) group_owners_.erase(static_cast<std::uint64_t>(info.group.value()));
  }
  (owned_by == kNobody ? nobody_ : caller.session)->remove_model(model);
}

Result<runtime::Footprint> Service::estimate(
    const LoadOptions& options, const fs::path& path,
    std::shared_ptr<const package::Executable> executable) {
  return engine_.estimate(SLUICE_TRY(load_request(options, path, std::move(executable))));
}

Status Service::start(const Caller& caller, ModelHandle model) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_model(caller, model));
  return host_of(model).start(model);
}

Status Service::stop(const Caller& caller, ModelHandle model, std::int64_t drain_ns) {
  SLUICE_TRY(check_model(caller, model));
  return host_of(model).stop(model, drain_deadline_ns(drain_ns));
}

Status Service::unload(const Caller& caller, ModelHandle model, std::int64_t drain_ns) {
  SLUICE_TRY(check_model(caller, model));
  const runtime::ModelInfo info = SLUICE_TRY(host_of(model).info(model));
  SLUICE_TRY(host_of(model).unload(model, drain_deadline_ns(drain_ns)));
  forget_model(model, info, caller);
  log_.add(LogLevel::kInfo, "model.unload model={:#x} name={} session={}", info.handle,
           in_quotes(info.name), static_cast<std::uint64_t>(caller.session->id()));
  return ok_status();
}

Status Service::reset(const Caller& caller, ModelHandle model) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_model(caller, model));
  return host_of(model).reset(model);
}

Result<ModelEntry> Service::entry_of(runtime::ModelInfo info) const {
  const ModelHandle model{info.handle};
  const auto sink = SLUICE_TRY(host_of(model).sink(model));
  const SessionId session = owner(model_owners_, info.handle);
  return ModelEntry{std::move(info), session, sink->signature()};
}

Result<std::vector<ModelEntry>> Service::list_models(std::uint64_t model) const {
  if (model != 0) {
    auto info = SLUICE_TRY(host_of(ModelHandle(model)).info(ModelHandle(model)));
    return std::vector<ModelEntry>{SLUICE_TRY(entry_of(std::move(info)))};
  }
  std::vector<ModelEntry> entries;
  for (runtime::ModelInfo& info : all_models()) {
    auto entry = entry_of(std::move(info));
    if (entry.is_ok()) entries.push_back(std::move(*entry));  // else unloaded meanwhile
  }
  return entries;
}

Result<std::shared_ptr<runtime::RequestSink>> Service::find_model(const Caller& caller,
                                                                  ModelHandle model) const {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_model(caller, model));
  return host_of(model).sink(model);
}

Result<std::uint64_t> Service::submit(const Caller& caller, runtime::RequestSink& sink,
                                      runtime::Request& request) const {
  SLUICE_TRY(caller.session->enter_request());
  request.on_done = [session = caller.session,
                     on_done = std::move(request.on_done)](runtime::Reply reply) {
    session->leave_request();
    if (on_done) on_done(std::move(reply));
  };
  auto id = sink.submit(request);
  if (!id.is_ok()) caller.session->leave_request();
  return id;
}

}  // namespace sluice::service
