#include "runtime/model/loader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/byte_budget.h"
#include "base/utf8.h"
#include "exec/memory_scope.h"
#include "runtime/model/in_place.h"
#include "runtime/model/request_name.h"
#include "runtime/pipeline/pipeline.h"
#include "topology/cores/plugin_cores.h"

namespace sluice::runtime {
namespace {

Status cancelled(const std::string& name) {
  return terms::runtime_error(RuntimeCode::kCancelled, "loading model \"{}\" was cancelled", name);
}

/// One slot for every lane that can compute at the same time, and one whose inputs are ready when a
/// lane becomes free.
int default_depth(const SegmentTargets& targets, const LoadPlan& plan) {
  // Segments that take turns on the same cores cannot overlap, so more slots would only wait.
  if (plan.mode == terms::LoadMode::kShared) return 1;
  return std::min(terms::kMaxDepth,
                  cores_for_normal(targets.needs) + targets.num_host_segments() + 1);
}

Status check_limits(const LoadRequest& request) {
  SLUICE_TRY(
      terms::with_runtime_code(check_name(name_of(request), "model"), RuntimeCode::kInvalid));
  // Limits of what one client may ask: each slot has an arena, each waiting request its inputs.
  return terms::check(request);
}

bool runs_beside_others(const LoadRequest& request) {
  return request.group && request.cores_beside_others > 0;
}

/// The cores of its group that a model may take.
std::span<const terms::CoreRef> cores_for(const LoadRequest& request,
                                          std::span<const terms::CoreRef> cores) {
  if (!runs_beside_others(request)) return cores;
  const auto most = static_cast<std::size_t>(request.cores_beside_others);
  return cores.first(std::min(most, cores.size()));
}

/// Adds the footprint to the error of a group without enough memory.
Status too_large(const Status& status, const terms::Footprint& footprint) {
  return terms::with_runtime_code(
      status.with_context(fmt::format("the model takes {}", footprint.to_string())),
      RuntimeCode::kOutOfResources);
}

/// The memory of the model's footprint.
Status reserve(topology::MemoryBudget& budget, CachedPackage& package, Model::Parts& parts) {
  const terms::Footprint& footprint = parts.info.footprint;
  parts.shared_memory = SLUICE_TRY(package.reserve(budget, footprint));
  const std::int64_t bytes = footprint.context_bytes * footprint.depth;
  // A category without bytes would still be listed in messages.
  if (bytes == 0) return ok_status();
  parts.memory = SLUICE_TRY(topology::MemoryLease::reserve(budget, "slots", bytes));
  return ok_status();
}

/// Cores of a segment; none for a model without operations, which has no segments.
std::vector<terms::CoreRef> cores_of(const LoadPlan& plan, std::size_t segment) {
  return segment < plan.cores.size() ? plan.cores[segment] : std::vector<terms::CoreRef>();
}

/// Segments on the same cores share a lane.
std::vector<std::vector<LaneCores>> cores_by_lane(const Pipeline& pipeline, const LoadPlan& plan) {
  std::vector<std::vector<LaneCores>> lanes(pipeline.num_lanes());
  for (std::size_t stage = 0; stage < pipeline.num_stages(); ++stage) {
    if (pipeline.kind(stage) != terms::StageKind::kCompute) continue;
    std::vector<LaneCores>& lane = lanes[pipeline.lane(stage)];
    const std::vector<terms::CoreRef> cores = cores_of(plan, pipeline.segment(stage));
    // The first segment of a lane counts: others have the same cores.
    if (cores.empty() || !lane.empty()) continue;
    lane.push_back({cores.front().device, static_cast<std::int32_t>(cores.size())});
  }
  return lanes;
}

/// The processors of each lane on the host's cores.
std::vector<std::vector<std::int32_t>> cpus_by_lane(const Pipeline& pipeline, const LoadPlan& plan,
                                                    const topology::DeviceMap& map) {
  std::vector<std::vector<std::int32_t>> lanes(pipeline.num_lanes());
  for (std::size_t stage = 0; stage < pipeline.num_stages(); ++stage) {
    std::vector<std::int32_t>& lane = lanes[pipeline.lane(stage)];
    if (pipeline.kind(stage) != terms::StageKind::kCompute || !lane.empty()) continue;
    // Empty for cores of other devices, whose lanes no thread of the host is pinned for.
    lane = topology::cpus_of(map, cores_of(plan, pipeline.segment(stage)));
  }
  return lanes;
}

std::shared_ptr<const terms::ProfiledModel> profiled(const terms::ModelInfo& info,
                                                     const Pipeline& pipeline,
                                                     const LoadPlan& plan) {
  auto model = std::make_shared<terms::ProfiledModel>();
  model->name = info.name;
  model->group = static_cast<std::uint64_t>(info.group.value());
  model->lanes.resize(pipeline.num_lanes());
  for (std::size_t stage = 0; stage < pipeline.num_stages(); ++stage) {
    terms::ProfiledModel::Lane& lane = model->lanes[pipeline.lane(stage)];
    lane.kind = pipeline.kind(stage);
    if (lane.kind == terms::StageKind::kCompute) {
      lane.cores = cores_of(plan, pipeline.segment(stage));
    }
  }
  return model;
}

terms::ReplyDetail where(const GroupScheduler& group, const SegmentTargets& targets) {
  terms::ReplyDetail detail;
  detail.group = static_cast<std::uint64_t>(group.group().id.value());
  for (const terms::CoreRef& core : group.group().cores) detail.cores.push_back(core.core);
  for (const auto& backend : targets.backends) detail.backends.push_back(backend->name());
  return detail;
}

std::shared_ptr<ByteBudget> payer_of(const LoadRequest& request) {
  return request.payer == nullptr ? exec::process_memory() : request.payer;
}

/// What the quota of a function leaves for its contexts: it counts constants besides. Without a
/// quota, whoever pays for the model.
std::shared_ptr<ByteBudget> context_quota(const LoadRequest& request,
                                          const terms::Footprint& footprint) {
  const std::int64_t quota = request.function ? request.function->memory_bytes : 0;
  if (quota <= 0) return payer_of(request);
  const std::int64_t rest = quota - footprint.constants_bytes - footprint.packed_bytes;
  return std::make_shared<ByteBudget>(std::max<std::int64_t>(rest, 0), payer_of(request));
}

/// Constants beside those of the package are charged to whoever pays for the model.
Result<CachedPackage::Placed> place(const LoadRequest& request, CachedPackage& package,
                                    const backend::BackendRegistry& backends,
                                    const exec::LoadOptions& options, const std::stop_token& stop) {
  const auto payer = payer_of(request);
  const exec::MemoryScope scope(payer);
  return package.place(backends, options, stop);
}

/// Its contexts charge the quota of a function.
Result<Pipeline> make_pipeline(const LoadRequest& request, const Model::Parts& parts, int num_slots,
                               const std::stop_token& stop) {
  const auto quota = context_quota(request, parts.info.footprint);
  const exec::MemoryScope payer(quota);
  return Pipeline::create(*parts.placement, static_cast<std::size_t>(num_slots), *parts.devices,
                          parts.info.name, stop);
}

SchedulerOptions scheduling_of(const LoadRequest& request, const terms::ModelInfo& info) {
  SchedulerOptions options;
  options.name = info.name;
  options.depth = info.depth;
  options.queue_limit = info.queue_limit;
  options.weight = request.weight;
  options.max_run_ns = request.max_run_ns.value_or(0);
  options.request_timeout_ns = request.request_timeout_ns;
  options.nan_policy = request.nan_policy;
  return options;
}

/// The segments of the package, with the cores that the request gives its only one.
Result<SegmentTargets> targets_of(const LoadRequest& request, const package::Executable& executable,
                                  const backend::BackendRegistry& backends) {
  SegmentTargets targets = SLUICE_TRY(find_targets(executable, backends));
  if (!request.cores || targets.needs.empty()) return targets;
  if (targets.needs.size() > 1) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "cores: {} is for models of one segment; \"{}\" has {}, and its "
                                "package says how many cores each has",
                                *request.cores, name_of(request), targets.needs.size());
  }
  targets.needs.front().cores = *request.cores;
  return targets;
}

}  // namespace

Result<std::shared_ptr<CachedPackage>> Loader::open(const LoadRequest& request) {
  if (request.package != nullptr) return request.package;
  if (request.executable != nullptr) return cache_.open(request.executable);
  if (request.path.empty()) {
    return terms::runtime_error(RuntimeCode::kInvalid, "neither a path nor an executable to load");
  }
  return cache_.open(request.path, request.is_path_real);
}

Result<terms::Footprint> Loader::estimate(const LoadRequest& request) {
  SLUICE_TRY(check_limits(request));
  const auto package = SLUICE_TRY(open(request));
  const auto executable = SLUICE_TRY(package->executable());
  const SegmentTargets targets = SLUICE_TRY(targets_of(request, *executable, backends_));
  const int depth = request.depth > 0 ? request.depth : default_depth(targets, LoadPlan{});
  return estimate_footprint(*executable, depth);
}

Result<std::shared_ptr<GroupScheduler>> Loader::find_group(const LoadRequest& request,
                                                           const SegmentTargets& targets,
                                                           const std::stop_token& stop) {
  if (request.group) return groups_.enter(*request.group);
  terms::CoreRequest wanted = request.where;
  if (wanted.kind.empty()) wanted.kind = targets.kind;
  if (!takes_all_cores(targets.needs)) {
    wanted.num_cores = cores_for_normal(targets.needs);
    wanted.parts = parts_of_range(targets.needs);
  }
  if (!request.may_share) return groups_.enter_new(wanted, request.wait, stop);
  return groups_.enter_shared(wanted, cores_for_shared(targets.needs), request.wait, stop);
}

Result<Entered> Loader::enter(const LoadRequest& request, const std::stop_token& stop) {
  SLUICE_TRY(check_limits(request));
  auto executable = SLUICE_TRY(SLUICE_TRY(open(request))->executable());
  const SegmentTargets targets = SLUICE_TRY(targets_of(request, *executable, backends_));
  auto group = SLUICE_TRY(find_group(request, targets, stop));
  return Entered{std::move(group), std::move(executable)};
}

Result<std::shared_ptr<Model>> Loader::load(const LoadRequest& request,
                                            const std::stop_token& stop) {
  const auto report = [&](LoadPhase phase) {
    if (request.on_progress) request.on_progress(phase);
    return stop.stop_requested() ? cancelled(name_of(request)) : ok_status();
  };
  SLUICE_TRY(check_limits(request));
  SLUICE_TRY(report(LoadPhase::kReading));
  auto package = SLUICE_TRY(open(request));
  const auto executable = SLUICE_TRY(package->executable());
  SLUICE_TRY(report(LoadPhase::kPlacing));
  const SegmentTargets targets = SLUICE_TRY(targets_of(request, *executable, backends_));
  const auto group = SLUICE_TRY(find_group(request, targets, stop));
  auto model = load_on(request, targets, std::move(package), group, stop);
  // A group made for this load has no other model to start; on a given group the caller chooses
  // which, unless models run beside each other.
  if (model.is_ok() && (!request.group || runs_beside_others(request))) {
    const Status status = (*model)->start();
    if (!status.is_ok()) model = status;
  }
  // find_group has entered the group; the last to leave destroys an implicit one.
  if (!model.is_ok()) groups_.leave(group->group().id);
  if (model.status().code() == Code::kCancelled) return cancelled(name_of(request));
  return std::move(model).with_context(fmt::format("loading model \"{}\"", name_of(request)));
}

/// The cores of each segment. Those for other kinds of devices become the group's.
Status Loader::plan(const LoadRequest& request, const SegmentTargets& targets,
                    const GroupScheduler& group, Model::Parts& parts) {
  parts.plan = SLUICE_TRY(plan_load(targets.needs, cores_for(request, group.group().cores),
                                    /*may_share=*/request.group.has_value() || group.is_shared()));
  const auto all = SLUICE_TRY(find_further(targets, groups_.map()));
  for (const FurtherSegments& further : all) {
    const std::string& first = targets.needs[further.numbers.front()].name;
    auto cores = groups_.extend(group.group().id, further.request);
    parts.extra_cores.push_back(
        SLUICE_TRY(std::move(cores).with_context(fmt::format("segment \"{}\"", first))));
    for (const std::size_t i : further.numbers) parts.plan.cores[i] = *parts.extra_cores.back();
  }
  return ok_status();
}

Result<std::shared_ptr<Model>> Loader::load_on(const LoadRequest& request,
                                               const SegmentTargets& targets,
                                               std::shared_ptr<CachedPackage> package,
                                               const std::shared_ptr<GroupScheduler>& group,
                                               const std::stop_token& stop) {
  const auto report = [&](LoadPhase phase) {
    if (request.on_progress) request.on_progress(phase);
    return stop.stop_requested() ? cancelled(name_of(request)) : ok_status();
  };
  Model::Parts parts;
  parts.group = group;
  parts.stepper = runs_beside_others(request) ? groups_.make_beside(*group) : group;
  SLUICE_TRY(plan(request, targets, *group, parts));
  exec::LoadOptions options = SLUICE_TRY(place_segments(targets, parts.plan, groups_.map()));
  options.devices = devices_;
  options.owner = name_of(request);
  options.max_recorded_bytes = request.max_recorded_bytes.value_or(options.max_recorded_bytes);
  options.random = request.random;
  const bool is_shared_mode = parts.plan.mode == terms::LoadMode::kShared;
  const int depth = request.depth > 0 ? request.depth : default_depth(targets, parts.plan);
  const int num_slots = is_shared_mode ? 1 : depth;

  SLUICE_TRY(report(LoadPhase::kPreparing));
  const auto executable = SLUICE_TRY(package->executable());
  parts.info.footprint = estimate_footprint(*executable, num_slots);
  parts.info.in_place_inputs = find_in_place_inputs(executable->graph);
  const Status reserved = reserve(*group->group().budget, *package, parts);
  if (!reserved.is_ok()) return too_large(reserved, parts.info.footprint);
  auto placed = SLUICE_TRY(place(request, *package, backends_, options, stop));
  parts.placement = std::move(placed.model);
  parts.package = std::move(package);

  SLUICE_TRY(report(LoadPhase::kAllocating));
  parts.info.name = name_of(request);
  parts.devices = devices_;
  auto pipeline =
      std::make_unique<Pipeline>(SLUICE_TRY(make_pipeline(request, parts, num_slots, stop)));
  parts.info.group = group->group().id;
  parts.info.is_implicit = !request.group.has_value();
  parts.info.mode = parts.plan.mode;
  parts.info.depth = depth;
  parts.info.queue_limit = request.queue_limit.value_or(terms::kWaitingPerSlot * depth);
  parts.info.num_slots = pipeline->num_slots();
  parts.info.shares_package = placed.is_shared;
  parts.info.slots_bytes = pipeline->memory_bytes();
  SchedulerOptions scheduling = scheduling_of(request, parts.info);
  scheduling.where = where(*group, targets);
  scheduling.lanes = cores_by_lane(*pipeline, parts.plan);
  scheduling.cpus = cpus_by_lane(*pipeline, parts.plan, groups_.map());
  scheduling.profiler = &profiler_;
  scheduling.profiled = profiled(parts.info, *pipeline, parts.plan);
  parts.scheduler =
      std::make_shared<ModelScheduler>(std::move(pipeline), std::move(scheduling), clock_);
  if (request.batching) SLUICE_TRY(parts.scheduler->join(*request.batching));
  parts.scheduler->set_driver(std::shared_ptr<Driver>(parts.stepper, &parts.stepper->driver()));
  SLUICE_TRY(report(LoadPhase::kDone));
  group->statistics().add(parts.scheduler->shared_statistics());
  return std::make_shared<Model>(std::move(parts));
}

}  // namespace sluice::runtime
