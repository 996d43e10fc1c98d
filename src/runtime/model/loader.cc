#include "runtime/model/loader.h"

#include <algorithm>
#include <utility>

#include "runtime/inference/device_constants.h"
#include "runtime/model/in_place.h"

namespace sluice::runtime {
namespace {

Status cancelled(const std::string& name) {
  return runtime_error(RuntimeCode::kCancelled, "loading model \"{}\" was cancelled", name);
}

std::string name_of(const LoadRequest& request) {
  if (!request.name.empty()) return request.name;
  return request.path.empty() ? "model" : request.path.stem().string();
}

/// As the research and the seed advise: a request in each place that may work, and one that waits.
int default_depth(const SegmentTargets& targets, const LoadPlan& plan) {
  if (plan.mode == LoadMode::kShared) return 1;
  return std::min(kMostDepth, cores_for_normal(targets.needs) + targets.num_host_segments() + 1);
}

Status check_depth(int depth) {
  if (depth >= 0 && depth <= kMostDepth) return ok_status();
  return runtime_error(RuntimeCode::kInvalid, "a depth of {} is not between 1 and {}", depth,
                       kMostDepth);
}

/// The group has no room: says what it was for.
Status too_large(const Status& status, const Footprint& footprint) {
  return with_runtime_code(
      status.with_context(fmt::format("the model takes {}", footprint.to_string())),
      RuntimeCode::kOutOfResources);
}

Result<std::vector<MemoryLease>> lease(MemoryBudget& budget, const Footprint& footprint) {
  std::vector<MemoryLease> leases;
  const auto add = [&](std::string_view category, std::int64_t bytes) -> Status {
    if (bytes == 0) return ok_status();
    leases.push_back(SLUICE_TRY(MemoryLease::reserve(budget, category, bytes)));
    return ok_status();
  };
  SLUICE_TRY(add("constants", footprint.constants_bytes));
  SLUICE_TRY(add("packed constants", footprint.packed_bytes));
  SLUICE_TRY(add("slots", footprint.context_bytes * footprint.depth));
  return leases;
}

/// Segments on the same cores share a lane.
std::vector<std::vector<LaneCores>> cores_by_lane(const Pipeline& pipeline, const LoadPlan& plan) {
  std::vector<std::vector<LaneCores>> lanes(pipeline.num_lanes());
  for (std::size_t stage = 0; stage < pipeline.num_stages(); ++stage) {
    if (pipeline.kind(stage) != StageKind::kCompute) continue;
    std::vector<LaneCores>& lane = lanes[pipeline.lane(stage)];
    const std::vector<CoreRef>& cores = plan.cores[pipeline.segment(stage)];
    if (cores.empty() || !lane.empty()) continue;
    lane.push_back({cores.front().device, static_cast<std::int32_t>(cores.size())});
  }
  return lanes;
}

std::shared_ptr<const ProfiledModel> profiled(const ModelInfo& info, const Pipeline& pipeline,
                                              const LoadPlan& plan) {
  auto model = std::make_shared<ProfiledModel>();
  model->name = info.name;
  model->group = static_cast<std::uint64_t>(info.group.value());
  model->lanes.resize(pipeline.num_lanes());
  for (std::size_t stage = 0; stage < pipeline.num_stages(); ++stage) {
    ProfiledModel::Lane& lane = model->lanes[pipeline.lane(stage)];
    lane.kind = pipeline.kind(stage);
    if (lane.kind == StageKind::kCompute) lane.cores = plan.cores[pipeline.segment(stage)];
  }
  return model;
}

ReplyDetail where(const GroupScheduler& group, const SegmentTargets& targets) {
  ReplyDetail detail;
  detail.group = static_cast<std::uint64_t>(group.group().id.value());
  for (const CoreRef& core : group.group().cores) detail.cores.push_back(core.core);
  for (const auto& backend : targets.backends) detail.backends.push_back(backend->name());
  return detail;
}

}  // namespace

std::string_view phase_name(LoadPhase phase) {
  switch (phase) {
    case LoadPhase::kReading: return "reading";
    case LoadPhase::kPlacing: return "placing";
    case LoadPhase::kPreparing: return "preparing";
    case LoadPhase::kAllocating: return "allocating";
    case LoadPhase::kDone: break;
  }
  return "done";
}

Result<std::shared_ptr<CachedPackage>> Loader::open(const LoadRequest& request) {
  if (request.executable != nullptr) return cache_.open(request.executable);
  if (request.path.empty()) {
    return runtime_error(RuntimeCode::kInvalid, "neither a path nor an executable to load");
  }
  return cache_.open(request.path);
}

Result<Footprint> Loader::estimate(const LoadRequest& request) {
  SLUICE_TRY(check_depth(request.depth));
  const auto package = SLUICE_TRY(open(request));
  const auto executable = SLUICE_TRY(package->executable());
  const SegmentTargets targets = SLUICE_TRY(find_targets(*executable, backends_));
  const int depth = request.depth > 0 ? request.depth : default_depth(targets, LoadPlan{});
  return estimate_footprint(*executable, depth);
}

Result<std::shared_ptr<GroupScheduler>> Loader::find_group(const LoadRequest& request,
                                                           const SegmentTargets& targets,
                                                           const std::stop_token& stop) {
  if (request.group) return groups_.enter(*request.group);
  CoreRequest wanted = request.where;
  if (wanted.kind.empty()) wanted.kind = targets.kind;
  wanted.num_cores = cores_for_normal(targets.needs);
  wanted.parts = parts_of_run(targets.needs);
  return groups_.enter_new(wanted, request.wait, stop);
}

Result<Loader::Entered> Loader::enter(const LoadRequest& request, const std::stop_token& stop) {
  SLUICE_TRY(check_depth(request.depth));
  auto executable = SLUICE_TRY(SLUICE_TRY(open(request))->executable());
  const SegmentTargets targets = SLUICE_TRY(find_targets(*executable, backends_));
  auto group = SLUICE_TRY(find_group(request, targets, stop));
  return Entered{std::move(group), std::move(executable)};
}

Result<std::shared_ptr<Model>> Loader::load(const LoadRequest& request,
                                            const std::stop_token& stop) {
  const auto report = [&](LoadPhase phase) {
    if (request.on_progress) request.on_progress(phase);
    return stop.stop_requested() ? cancelled(name_of(request)) : ok_status();
  };
  SLUICE_TRY(check_depth(request.depth));
  SLUICE_TRY(report(LoadPhase::kReading));
  auto package = SLUICE_TRY(open(request));
  const auto executable = SLUICE_TRY(package->executable());
  SLUICE_TRY(report(LoadPhase::kPlacing));
  const SegmentTargets targets = SLUICE_TRY(find_targets(*executable, backends_));
  const auto group = SLUICE_TRY(find_group(request, targets, stop));
  auto model = load_on(request, targets, std::move(package), group, stop);
  if (model.is_ok() && !request.group) {
    const Status status = (*model)->start();
    if (!status.is_ok()) model = status;
  }
  if (!model.is_ok()) groups_.leave(group->group().id);
  if (model.status().code() == Code::kCancelled) return cancelled(name_of(request));
  return std::move(model).with_context(fmt::format("loading model \"{}\"", name_of(request)));
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
  parts.plan = SLUICE_TRY(
      plan_load(targets.needs, group->group().cores, /*may_share=*/request.group.has_value()));
  exec::LoadOptions options = SLUICE_TRY(place_segments(targets, parts.plan, groups_.map()));
  options.bring_constant = bring_to(devices_);
  const bool is_shared_mode = parts.plan.mode == LoadMode::kShared;
  const int depth = request.depth > 0 ? request.depth : default_depth(targets, parts.plan);
  const int num_slots = is_shared_mode ? 1 : depth;

  SLUICE_TRY(report(LoadPhase::kPreparing));
  const auto executable = SLUICE_TRY(package->executable());
  parts.info.footprint = estimate_footprint(*executable, num_slots);
  parts.info.in_place_inputs = find_in_place_inputs(executable->graph);
  auto memory = lease(*group->group().budget, parts.info.footprint);
  if (!memory.is_ok()) return too_large(memory.status(), parts.info.footprint);
  parts.memory = std::move(*memory);
  auto placed = SLUICE_TRY(package->place(backends_, options, stop));
  parts.placement = std::move(placed.model);
  parts.package = std::move(package);

  SLUICE_TRY(report(LoadPhase::kAllocating));
  parts.info.name = name_of(request);
  parts.devices = devices_;
  auto pipeline = std::make_unique<Pipeline>(SLUICE_TRY(Pipeline::create(
      *parts.placement, static_cast<std::size_t>(num_slots), *devices_, parts.info.name, stop)));
  parts.info.group = group->group().id;
  parts.info.is_implicit = !request.group.has_value();
  parts.info.mode = parts.plan.mode;
  parts.info.depth = depth;
  parts.info.num_slots = pipeline->num_slots();
  parts.info.shares_package = placed.is_shared;
  parts.info.slots_bytes = pipeline->memory_bytes();
  SchedulerOptions scheduling = {parts.info.name, depth, request.nan_policy,
                                 where(*group, targets)};
  scheduling.lanes = cores_by_lane(*pipeline, parts.plan);
  scheduling.profiler = &profiler_;
  scheduling.profiled = profiled(parts.info, *pipeline, parts.plan);
  parts.scheduler =
      std::make_shared<ModelScheduler>(std::move(pipeline), std::move(scheduling), clock_);
  parts.scheduler->set_driver(std::shared_ptr<Driver>(group, &group->driver()));
  SLUICE_TRY(report(LoadPhase::kDone));
  group->statistics().add(parts.scheduler->shared_statistics());
  return std::make_shared<Model>(std::move(parts));
}

}  // namespace sluice::runtime
