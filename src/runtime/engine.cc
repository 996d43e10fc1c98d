#include "runtime/engine.h"

#include <algorithm>
#include <utility>

#include "backend/extensions/device_reset.h"
#include "base/log/event_log.h"
#include "base/process/with_lock.h"
#include "runtime/model/loader.h"

namespace sluice::runtime {
namespace {

Status closed() {
  return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                "the runtime is shut down");
}

}  // namespace

Engine::Engine(const backend::BackendRegistry& backends, DriverSource& drivers,
               EngineOptions options)
    : TableHost(HandleKind::kEngine),
      backends_(backends),
      clock_(drivers.clock()),
      options_(std::move(options)),
      created_ns_(clock_.now_ns()),
      profiler_(clock_),
      groups_(std::make_unique<GroupTable>(options_.devices, drivers)),
      loader_(std::make_unique<Loader>(backends, *groups_, profiler_, clock_, options_.transfers)) {
}

Engine::~Engine() { shutdown(); }

/// A quick answer for calls that come too late. It holds no lock afterwards: load() asks again when
/// it inserts its model.
Status Engine::check_open() const {
  const std::shared_lock lock(open_mutex_);
  return is_open_ ? ok_status() : closed();
}

Result<terms::CoreGroupId> Engine::create_group(const terms::CoreRequest& request,
                                                const topology::WaitPolicy& wait,
                                                const std::stop_token& stop) {
  SLUICE_TRY(check_open());
  // May wait for cores for as long as `wait` says, without any lock of the engine.
  return groups_->create(request, wait, stop);
}

Status Engine::destroy_group(terms::CoreGroupId id) { return groups_->destroy(id); }

std::int32_t Engine::num_free_cores() const { return groups_->core_groups().num_free_cores(); }

void Engine::set_condition(terms::DeviceId device, terms::DeviceCondition condition) {
  groups_->set_condition(device, std::move(condition));
}

std::shared_ptr<GroupScheduler> Engine::find_group(terms::CoreGroupId id) const {
  return groups_->find(id);
}

void Engine::leave(terms::CoreGroupId id) { groups_->leave(id); }

Result<terms::Footprint> Engine::estimate(const LoadRequest& request) {
  return loader_->estimate(request);
}

Result<std::shared_ptr<CachedPackage>> Engine::open(const LoadRequest& request) {
  return loader_->open(request);
}

Result<Entered> Engine::enter(const LoadRequest& request, const std::stop_token& stop) {
  SLUICE_TRY(check_open());
  return loader_->enter(request, stop);
}

std::vector<terms::GroupInfo> Engine::list_groups() const {
  std::vector<terms::GroupInfo> infos;
  for (const topology::CoreGroups::Listed& listed : groups_->core_groups().list()) {
    terms::GroupInfo info;
    info.id = listed.group->id;
    info.origin = listed.group->origin;
    info.cores = listed.cores;
    info.num_models = listed.num_models;
    info.memory_used_bytes = listed.group->budget->used_bytes();
    info.max_memory_bytes = listed.group->budget->limit_bytes();
    // The group may have gone since it was listed: it is listed without its models then.
    if (const auto scheduler = groups_->find(info.id)) {
      info.num_switches = scheduler->num_switches();
      if (const auto active = scheduler->active()) info.active_model = active->options().name;
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<terms::ModelHandle> Engine::load(const LoadRequest& request, const std::stop_token& stop) {
  SLUICE_TRY(check_open());
  auto model = SLUICE_TRY(loader_->load(request, stop));
  {
    // Shared, so that loads insert concurrently; shutdown takes it exclusively and then sees every
    // model.
    const std::shared_lock lock(open_mutex_);
    if (is_open_) {
      const std::string name = in_quotes(model->info().name);
      const auto group = model->group()->group().id.value();
      const terms::ModelHandle handle{models_.insert(std::move(model))};
      log_event(LogLevel::kInfo, "model.loaded name={} model={} group={}", name,
                static_cast<std::uint64_t>(handle), group);
      return handle;
    }
  }
  // The runtime was closed while the model loaded; shutdown did not see it.
  unload(model, 0);
  return closed();
}

std::int64_t Engine::hang_deadline_ns(std::int64_t drain_deadline_ns) const {
  const std::int64_t start = std::max(drain_deadline_ns, clock_.now_ns());
  // The sum must not overflow where the drain has no deadline.
  return start > kNoDeadline - options_.hang_limit_ns ? kNoDeadline
                                                      : start + options_.hang_limit_ns;
}

Status Engine::start(terms::ModelHandle handle) {
  SLUICE_TRY(SLUICE_TRY(find(handle))->start());
  log_event(LogLevel::kInfo, "model.started model={}", static_cast<std::uint64_t>(handle));
  return ok_status();
}

Status Engine::stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) {
  const auto model = SLUICE_TRY(find(handle));
  SLUICE_TRY(model->stop(drain_deadline_ns, hang_deadline_ns(drain_deadline_ns)));
  log_event(LogLevel::kInfo, "model.stopped model={}", static_cast<std::uint64_t>(handle));
  return ok_status();
}

Status Engine::reset(terms::ModelHandle handle) { return SLUICE_TRY(find(handle))->reset(); }

Status Engine::reset_device(terms::DeviceId device) {
  const terms::Device* found = topology::find_device(options_.devices, device);
  if (found == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalid, "there is no device {}", device.value());
  }
  if (found->backend.empty()) {
    return terms::runtime_error(RuntimeCode::kInvalid, "{} has no driver that could reset it",
                                topology::describe(*found));
  }
  const auto backend = SLUICE_TRY(backends_.find(found->backend));
  const Status status = backend::reset_device(*backend, found->backend_index);
  if (status.is_ok()) return status;
  const bool is_lacking = status.code() == Code::kUnimplemented;
  return terms::with_runtime_code(status,
                                  is_lacking ? RuntimeCode::kInvalid : RuntimeCode::kDeviceError)
      .with_context(topology::describe(*found));
}

Result<BroughtTensor> Engine::bring(const Bytes& bytes, terms::DeviceId device,
                                    const std::function<Status()>& fetch) {
  const terms::Device* found = topology::find_device(options_.devices, device);
  if (found == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalid, "there is no device {}", device.value());
  }
  if (found->backend.empty()) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "{} works on the host's memory, where the tensor is",
                                topology::describe(*found));
  }
  const auto backend = SLUICE_TRY(backends_.find(found->backend));
  const auto brought = loader_->devices().bring(bytes, backend, found->backend_index, fetch);
  if (!brought.is_ok()) {
    const Code code = brought.status().code();
    const RuntimeCode meaning = code == Code::kFailedPrecondition  ? RuntimeCode::kInvalid
                                : code == Code::kResourceExhausted ? RuntimeCode::kOutOfResources
                                                                   : RuntimeCode::kDeviceError;
    return terms::with_runtime_code(brought.status(), meaning)
        .with_context(topology::describe(*found));
  }
  BroughtTensor tensor = {brought->copy, std::nullopt};
  for (const terms::Device& one : options_.devices.devices) {
    if (one.backend == found->backend && one.backend_index == brought->from) tensor.from = one.id;
  }
  return tensor;
}

std::shared_ptr<const void> Engine::bring_by_link(const Bytes& bytes, const void* device) {
  const auto no_link = [] {
    return make_error(Code::kFailedPrecondition, "no link joins the devices");
  };
  for (const terms::Device& one : options_.devices.devices) {
    if (one.backend.empty()) continue;
    if (loader_->devices().find(one.backend, one.backend_index).get() != device) continue;
    auto brought = bring(bytes, one.id, no_link);
    return brought.is_ok() ? std::move(brought->copy) : nullptr;
  }
  return nullptr;
}

Status Engine::unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) {
  // The handle is invalid before the model drains: no request can arrive any more, and a second
  // unload finds nothing.
  const auto model = models_.remove(static_cast<std::uint64_t>(handle));
  if (model == nullptr) return unknown(handle);
  unload(model, drain_deadline_ns);
  log_event(LogLevel::kInfo, "model.unloaded model={}", static_cast<std::uint64_t>(handle));
  return ok_status();
}

void Engine::unload(const std::shared_ptr<Model>& model, std::int64_t drain_deadline_ns) {
  model->unload(drain_deadline_ns, hang_deadline_ns(drain_deadline_ns));
  // Only now: the cores of an implicit group are free for others when the kernels have stopped.
  groups_->leave(model->group()->group().id);
}

terms::ModelInfo Engine::describe(std::uint64_t handle, const Model& model) const {
  terms::ModelInfo info = model.info();
  info.handle = handle;
  return info;
}

Result<ModelStatisticsSnapshot> Engine::statistics(terms::ModelHandle handle) const {
  return SLUICE_TRY(find(handle))->scheduler()->statistics().snapshot();
}

Result<std::uint64_t> Engine::start_profile(const terms::ProfileSettings& settings) {
  ProfileOptions options;
  options.limit_ns = settings.limit_ns;
  options.max_spans = settings.max_spans;
  if (settings.model)
    options.model = SLUICE_TRY(find(*settings.model))->scheduler()->options().profiled;
  if (settings.group) {
    if (groups_->find(*settings.group) == nullptr) {
      return terms::runtime_error(RuntimeCode::kInvalidHandle, "no core group has handle {}",
                                  settings.group->value());
    }
    options.group = static_cast<std::uint64_t>(settings.group->value());
  }
  return profiler_.start(options);
}

Result<std::shared_ptr<RequestSink>> Engine::sink(terms::ModelHandle handle) const {
  return std::shared_ptr<RequestSink>(SLUICE_TRY(find(handle))->scheduler());
}

void Engine::shutdown(std::int64_t drain_deadline_ns) {
  with_lock(open_mutex_, [&] { is_open_ = false; });
  // Loads that wait for cores give up; without this shutdown would wait for them.
  groups_->close();
  for (const auto& [handle, model] : models_.all()) {
    if (models_.remove(handle) != nullptr) unload(model, drain_deadline_ns);
  }
  for (const auto& group : groups_->all()) {
    (void)groups_->destroy(group->group().id);  // another call destroyed it first
  }
}

}  // namespace sluice::runtime
