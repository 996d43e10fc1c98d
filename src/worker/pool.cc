#include "worker/pool.h"

#include <algorithm>
#include <utility>

#include "base/process/memory_limit.h"
#include "base/process/with_lock.h"
#include "exec/memory_scope.h"
#include "runtime/model/request_name.h"
#include "topology/map/device_map_json.h"
#include "worker/protocol/model_info.h"
#include "worker/protocol/package_file.h"
#include "worker/protocol/setup.h"

namespace sluice::worker {

using nlohmann::json;
using terms::CoreGroupId;
using terms::ModelHandle;

namespace {

/// As in EngineOptions: how long a stage may go on after its request was cancelled.
constexpr std::int64_t kHangLimitNs = 10'000'000'000;

Status shut_down() {
  return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                "the runtime is shut down");
}

std::vector<runtime::LaneCores> count_cores(const topology::CoreGroup& group) {
  std::vector<runtime::LaneCores> all;
  for (const terms::CoreRef& core : group.cores) {
    const auto it = std::ranges::find(all, core.device, &runtime::LaneCores::device);
    if (it == all.end()) {
      all.push_back({core.device, 1});
    } else {
      ++it->num_cores;
    }
  }
  return all;
}

/// Reserves what the worker holds in the daemon's account of the group. Both have the same limit,
/// so a reservation that fails here is an estimate that differs, and is left out.
std::vector<topology::MemoryLease> lease(topology::MemoryBudget& budget,
                                         const terms::Footprint& footprint) {
  std::vector<topology::MemoryLease> leases;
  const auto add = [&](std::string_view category, std::int64_t bytes) {
    auto lease = topology::MemoryLease::reserve(budget, category, bytes);
    if (bytes > 0 && lease.is_ok()) leases.push_back(std::move(*lease));
  };
  add("constants", footprint.constants_bytes);
  add("packed constants", footprint.packed_bytes);
  add("slots", footprint.context_bytes * footprint.depth);
  return leases;
}

/// Constants of the package are the package's.
Result<ByteCharge> charge_of(const runtime::LoadRequest& request,
                             const terms::Footprint& footprint) {
  const std::int64_t bytes =
      footprint.packed_bytes + footprint.context_bytes * std::max(footprint.depth, 1);
  auto charge =
      ByteCharge::take(request.payer == nullptr ? exec::process_memory() : request.payer, bytes);
  if (charge.is_ok()) return charge;
  return terms::with_runtime_code(charge.status(), RuntimeCode::kOutOfResources);
}

/// The system-call filter knows what these devices need. Drivers of others need more.
bool can_be_filtered(const topology::DeviceMap& map, const topology::CoreGroup& group) {
  return std::ranges::all_of(group.cores, [&](const terms::CoreRef& core) {
    const terms::Device* device = find_device(map, core.device);
    return device != nullptr && (device->kind == terms::kCpuKind || device->kind == "sim");
  });
}

/// For the worker, whose process is the isolation.
terms::LoadOptions load_of(const runtime::LoadRequest& request) {
  terms::LoadOptions load = request;
  load.isolation = std::nullopt;
  if (request.random) load.seed = request.random->seed();
  return load;
}

}  // namespace

std::filesystem::path default_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "sluice-worker";
}

// ---- groups

std::shared_ptr<WorkerGroup> WorkerPool::find(CoreGroupId group) const {
  const std::lock_guard lock(mutex_);
  const auto it = groups_.find(group);
  return it == groups_.end() ? nullptr : it->second;
}

Result<std::shared_ptr<WorkerGroup>> WorkerPool::make_worker(const topology::CoreGroup& cores,
                                                             bool has_spare) {
  WorkerSetup setup;
  setup.map = topology::print_device_map(options_.devices);
  setup.sim = options_.sim;
  setup.first_device = cores.cores.front().device.value();
  setup.first_core = cores.cores.front().core;
  setup.num_cores = static_cast<std::int32_t>(cores.cores.size());
  setup.usable_bytes = usable_memory_bytes();
  // Both sides have one limit: the worker enforces it, the daemon's budget shows it.
  setup.memory_bytes = std::max<std::int64_t>(cores.budget->limit_bytes(), 0);
  setup.cpus = cores.cpus;
  setup.hang_limit_ns = kHangLimitNs;
  setup.user = options_.user;
  setup.group = options_.group;
  setup.is_filtered = options_.is_filtered && can_be_filtered(options_.devices, cores);
  GroupOptions options;
  options.link.program = options_.program;
  options.link.name = fmt::format("worker of group {}", cores.id.value());
  options.link.start = print_setup(setup);
  options.link.silence_limit_ns = options_.silence_limit_ns;
  options.hang_limit_ns = kHangLimitNs;
  options.max_restarts = options_.max_restarts;
  options.has_spare = has_spare;
  options.on_event = options_.on_event;
  auto group = SLUICE_TRY(WorkerGroup::create(std::move(options)));
  bool is_kept = false;
  {
    const std::lock_guard lock(mutex_);
    // shutdown() closes what is in the table: a worker that came too late is closed here.
    if (is_open_) {
      groups_[cores.id] = group;
      is_kept = true;
    }
  }
  if (is_kept) {
    record_all(cores.id, *group);
    return group;
  }
  group->close();
  return shut_down();
}

void WorkerPool::end_worker(CoreGroupId group) {
  std::shared_ptr<WorkerGroup> last;
  {
    const std::lock_guard lock(mutex_);
    const auto it = groups_.find(group);
    if (it == groups_.end()) return;
    // Closed without mutex_: close() waits for the process.
    last = std::move(it->second);
    groups_.erase(it);
  }
  last->close();
}

Result<CoreGroupId> WorkerPool::create_group(const terms::CoreRequest& request, bool has_spare) {
  const CoreGroupId id = SLUICE_TRY(engine_.create_group(request));
  const auto cores = engine_.find_group(id);
  const Status status =
      cores == nullptr ? shut_down() : make_worker(cores->group(), has_spare).status();
  if (status.is_ok()) return id;
  (void)engine_.destroy_group(id);  // it is ours and empty
  return status;
}

/// The engine counts the group's models and refuses while there are any.
Status WorkerPool::destroy_group(CoreGroupId group) {
  SLUICE_TRY(engine_.destroy_group(group));
  end_worker(group);
  return ok_status();
}

Status WorkerPool::revive(CoreGroupId group) {
  const auto found = find(group);
  return found == nullptr ? ok_status() : found->revive();
}

terms::WorkerInfo WorkerPool::worker_of(CoreGroupId group) const {
  const auto found = find(group);
  return found == nullptr ? terms::WorkerInfo() : found->info();
}

void WorkerPool::describe(std::vector<terms::GroupInfo>& groups) const {
  for (terms::GroupInfo& info : groups) {
    const auto group = find(info.id);
    if (group == nullptr) continue;
    info.worker = group->info();
    info.active_model = group->active_model();
    info.num_switches = group->num_switches();
  }
}

// ---- models

terms::ModelInfo WorkerPool::describe(std::uint64_t handle, const PoolModel& loaded) const {
  terms::ModelInfo info = loaded.model->info();
  info.handle = handle;
  return info;
}

Result<ModelHandle> WorkerPool::load(const runtime::LoadRequest& request,
                                     const std::stop_token& stop) {
  shm::Fd package = request.package_fd >= 0
                        ? SLUICE_TRY(duplicate(request.package_fd))
                        : SLUICE_TRY(open_package(request.path, request.is_path_real));
  runtime::LoadRequest wanted = request;
  // Mapped in the daemon too: the signature, the footprint and the cores that it needs come from
  // it.
  if (wanted.executable == nullptr) {
    wanted.executable =
        SLUICE_TRY(map_package(package.get(), true).with_context(request.path.string()));
  }
  wanted.name = name_of(wanted);
  const auto entered = SLUICE_TRY(engine_.enter(wanted, stop));
  auto model = load_on(wanted, entered.group, *entered.executable, std::move(package), stop);
  if (model.is_ok()) return model;
  const CoreGroupId id = entered.group->group().id;
  // The worker was made for this load alone.
  if (!request.group) end_worker(id);
  engine_.leave(id);
  return std::move(model).with_context(fmt::format("loading model \"{}\"", wanted.name));
}

Result<ModelHandle> WorkerPool::load_on(const runtime::LoadRequest& request,
                                        const std::shared_ptr<runtime::GroupScheduler>& cores,
                                        const package::Executable& executable, shm::Fd package,
                                        const std::stop_token& stop) {
  const CoreGroupId id = cores->group().id;
  const auto group = request.group ? find(id) : SLUICE_TRY(make_worker(cores->group()));
  if (group == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "group {} was destroyed", id.value());
  }
  const int package_fd = package.get();
  const bool has_code = !executable.code.empty();  // the daemon took it out of uploads
  const terms::LoadOptions load = load_of(request);
  std::optional<runtime::JoinRule> rule;
  if (load.batching) {
    rule = SLUICE_TRY(
        runtime::join_rule(fmt::format("model \"{}\"", load.name), executable, *load.batching));
  }
  const auto make = [&](const json& loaded) {
    RemoteModel::Parts parts;
    parts.info = info_of(loaded);
    parts.info.name = request.name;
    parts.info.group = id;
    parts.info.is_implicit = !request.group.has_value();
    parts.signature = package::signature_of(executable.graph);
    // `submit` copies all inputs to the worker, so a client cannot change them during the run.
    parts.info.in_place_inputs.assign(parts.signature.inputs.size(), true);
    parts.package = std::move(package);
    parts.keeps_code = has_code;
    if (rule) {
      // Clients of a padded model may send any number of rows; the worker checks and pads them.
      parts.signature = rule->signature;
      parts.batch_rows = rule->max_rows;
    }
    parts.load = load;
    parts.where.group = static_cast<std::uint64_t>(id.value());
    for (const auto& core : cores->group().cores) parts.where.cores.push_back(core.core);
    parts.cores = count_cores(cores->group());
    parts.memory = lease(*cores->group().budget, parts.info.footprint);
    parts.link = group->slot();
    return std::make_shared<RemoteModel>(std::move(parts));
  };
  const auto model = SLUICE_TRY(group->load(load, package_fd, has_code, stop, make));
  auto charge = charge_of(request, model->info().footprint);
  Status status = charge.status();
  if (status.is_ok() && !request.group) status = group->start(*model);
  if (!status.is_ok()) {
    group->unload(model, 0);
    return status;
  }
  cores->statistics().add(model->statistics());
  auto loaded = std::make_shared<PoolModel>(PoolModel{model, group, std::move(*charge)});
  {
    const std::lock_guard lock(mutex_);
    if (is_open_) return ModelHandle(models_.insert(std::move(loaded)));
  }
  // Loaded while the pool was shut down; shutdown() did not see it.
  group->unload(model, 0);
  return shut_down();
}

Status WorkerPool::start(ModelHandle handle) {
  const auto loaded = SLUICE_TRY(find(handle));
  return loaded->group->start(*loaded->model);
}

Status WorkerPool::stop(ModelHandle handle, std::int64_t drain_deadline_ns) {
  const auto loaded = SLUICE_TRY(find(handle));
  // The worker has a clock of its own, which may be virtual: it gets the time that is left.
  return loaded->group->stop(*loaded->model, drain_deadline_ns - clock().now_ns());
}

Status WorkerPool::reset(ModelHandle handle) {
  const auto loaded = SLUICE_TRY(find(handle));
  return loaded->group->reset(*loaded->model);
}

Status WorkerPool::unload(ModelHandle handle, std::int64_t drain_deadline_ns) {
  SLUICE_TRY(find(handle));
  // One thread gets the entry; others find no handle any more.
  const auto loaded = models_.remove(static_cast<std::uint64_t>(handle));
  if (loaded == nullptr) return find(handle).status();
  unload(*loaded, drain_deadline_ns);
  return ok_status();
}

void WorkerPool::unload(const PoolModel& loaded, std::int64_t drain_deadline_ns) {
  const terms::ModelInfo info = loaded.model->info();
  loaded.group->unload(loaded.model, drain_deadline_ns - clock().now_ns());
  if (const auto cores = engine_.find_group(info.group)) {
    cores->statistics().retire(*loaded.model->statistics());
  }
  if (info.is_implicit) end_worker(info.group);  // before another group gets the cores
  engine_.leave(info.group);
}

Result<runtime::ModelStatisticsSnapshot> WorkerPool::statistics(ModelHandle handle) const {
  return SLUICE_TRY(find(handle))->model->statistics()->snapshot();
}

Result<terms::Health> WorkerPool::health(ModelHandle handle) const {
  const auto loaded = SLUICE_TRY(find(handle));
  const bool has_failed = loaded->model->phase() == terms::ModelPhase::kFailed;
  terms::Health health = health_of(loaded->model->statistics()->snapshot(), has_failed);
  const terms::WorkerInfo worker = loaded->group->info();
  if (worker.state == "ready" || has_failed) return health;
  return terms::Health{terms::HealthState::kDegraded, worker.reason, "Wait, or reset it."};
}

Result<std::shared_ptr<runtime::RequestSink>> WorkerPool::sink(ModelHandle handle) const {
  return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(find(handle))->model);
}

void WorkerPool::shutdown(std::int64_t drain_deadline_ns) {
  with_lock(mutex_, [&] { is_open_ = false; });
  for (const auto& [handle, loaded] : models_.all()) {
    if (const auto removed = models_.remove(handle)) unload(*removed, drain_deadline_ns);
  }
  std::vector<CoreGroupId> left;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, group] : groups_) left.push_back(id);
  }
  for (const CoreGroupId id : left) {
    (void)destroy_group(id);  // another thread destroyed it first
  }
}

}  // namespace sluice::worker
