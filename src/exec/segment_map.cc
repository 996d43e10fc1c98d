#include "exec/segment_map.h"

#include <algorithm>
#include <numeric>

#include "backend/extensions/events.h"
#include "base/process/cpu_quota.h"
#include "base/system/processor.h"
#include "base/text/plural.h"
#include "device/device_services.h"
#include "terms/device.h"

namespace sluice::exec {
namespace {

using BackendPointer = std::shared_ptr<const backend::Backend>;

/// The first context finds its stream made. A program that creates contexts and drops them, one per
/// thread, reuses so many streams; a model with more contexts at a time takes more.
constexpr device::StreamPoolOptions kStreamOptions = {.made_ahead = 1, .max_unused = 16};

/// Few networks have more than four branches of equal work.
constexpr std::size_t kMaxLanes = 4;

/// The placement of a segment if the options give none.
SegmentPlacement place_on(const backend::Backend& backend, int device, const LoadOptions& options) {
  if (!options.cores.empty()) return {device, options.cores};
  const auto& info = backend.devices()[static_cast<std::size_t>(device)];
  const int num_cores = std::max(1, info.num_cores);
  // A processor has the cores for which the process gets time.
  const int usual = info.kind == terms::kCpuKind ? cores_within_quota(num_cores) : num_cores;
  const int wanted = options.num_threads > 0 ? options.num_threads : usual;
  SegmentPlacement placement;
  placement.device = device;
  placement.cores.resize(static_cast<std::size_t>(std::clamp(wanted, 1, num_cores)));
  std::iota(placement.cores.begin(), placement.cores.end(), 0);
  return placement;
}

class Mapper {
 public:
  Mapper(const package::Executable& executable, std::span<const BackendPointer> backends,
         const LoadOptions& options, ExecutorKind executor)
      : executable_(executable), backends_(backends), options_(options), executor_(executor) {}

  Result<SegmentMap> run() {
    const auto specs = SLUICE_TRY(package::segments_of(executable_));
    if (!options_.segments.empty() && options_.segments.size() != specs.size()) {
      return invalid_argument("the model has {} segments; placements are given for {}",
                              specs.size(), options_.segments.size());
    }
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const std::size_t end = i + 1 < specs.size() ? specs[i + 1].first_operation
                                                   : executable_.backend_of.front().size();
      SLUICE_TRY(add(i, specs[i], end));
    }
    SLUICE_TRY(add_bodies());
    add_cpus();
    map_.lanes.resize(map_.groups.size());
    if (executor_ == ExecutorKind::kParallel) SLUICE_TRY(add_lanes());
    add_devices();
    return std::move(map_);
  }

 private:
  Status add(std::size_t index, const package::SegmentSpec& spec, std::size_t end) {
    map_.segment_of_position.resize(end, index);
    std::int16_t number = -1;
    for (std::size_t position = spec.first_operation; position < end; ++position) {
      number = std::max(number, executable_.backend_of.front()[position]);
    }
    if (number < 0 && backends_.empty()) {
      return unimplemented("segment \"{}\": no backend was chosen for the model", spec.name);
    }
    const auto backend = static_cast<std::size_t>(std::max<std::int16_t>(number, 0));
    const SegmentPlacement placement =
        options_.segments.empty() ? default_placement(backend) : options_.segments[index];
    auto group = find_or_make(backend, placement);
    map_.group_index.push_back(
        SLUICE_TRY(std::move(group).with_context(fmt::format("segment \"{}\"", spec.name))));
    return ok_status();
  }

  /// Bodies of control flow run on a group that their backend already has, else on the first
  /// segment's cores.
  Status add_bodies() {
    map_.group_of_backend.resize(backends_.size());
    for (std::size_t s = 1; s < executable_.backend_of.size(); ++s) {
      for (const std::int16_t number : executable_.backend_of[s]) {
        if (number < 0) continue;
        const auto backend = static_cast<std::size_t>(number);
        map_.group_of_backend[backend] = SLUICE_TRY(find_any(backend));
      }
    }
    return ok_status();
  }

  /// On the device that the package names; the registry has checked that it exists.
  SegmentPlacement default_placement(std::size_t backend) const {
    const auto name = backend::split_device_name(executable_.backends[backend]);
    return place_on(*backends_[backend], name.device.value_or(0), options_);
  }

  Result<std::size_t> find_any(std::size_t backend) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].first == backend) return i;
    }
    if (options_.segments.empty()) {
      return find_or_make(backend, default_placement(backend));
    }
    return find_or_make(backend, {0, options_.segments.front().cores});
  }

  Result<std::size_t> find_or_make(std::size_t backend, const SegmentPlacement& placement) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].first == backend && made_[i].second == placement) return i;
    }
    const auto devices = backends_[backend]->devices();
    if (placement.device < 0 || static_cast<std::size_t>(placement.device) >= devices.size()) {
      return invalid_argument("backend \"{}\" has {}, no device {}", backends_[backend]->name(),
                              counted(devices.size(), "device"), placement.device);
    }
    map_.groups.push_back(
        SLUICE_TRY(backend::Group::create(backends_[backend], placement.device, placement.cores)));
    SLUICE_TRY(add_streams());
    made_.emplace_back(backend, placement);
    return made_.size() - 1;
  }

  /// A plug-in for the host numbers the processors that its process may use; see
  /// topology/cores/plugin_cores.h.
  void add_cpus() {
    if (!options_.segments.empty() || options_.cores.empty()) return;
    const bool is_on_cpu = std::ranges::any_of(made_, [&](const auto& made) {
      const auto device = static_cast<std::size_t>(made.second.device);
      return backends_[made.first]->devices()[device].kind == terms::kCpuKind;
    });
    if (!is_on_cpu) return;
    const std::vector<std::int32_t> usable = process_cpus();
    for (const std::int32_t core : options_.cores) {
      const auto number = static_cast<std::size_t>(core);
      if (number < usable.size()) map_.cpus.push_back(usable[number]);
    }
  }

  /// Adds the streams of the last group.
  Status add_streams() {
    const auto& group = map_.groups.back();
    std::shared_ptr<device::StreamLedger> ledger;
    if (options_.devices != nullptr) {
      const auto services =
          SLUICE_TRY(options_.devices->of(group->shared_backend(), group->device()));
      if (services != nullptr) ledger = services->streams;
    }
    map_.streams.push_back(SLUICE_TRY(device::StreamPool::create(group, kStreamOptions, ledger)));
    return ok_status();
  }

  /// A group whose device reads host memory runs lists on the thread that submits them. It gets a
  /// lane for each part of its cores; lane i of all groups is submitted to by thread i. Any other
  /// device has a thread of its own.
  Status add_lanes() {
    const std::size_t count = map_.groups.size();
    map_.thread_of_group.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      if (map_.is_on_host(i)) SLUICE_TRY(split(i));
    }
    std::size_t last = *std::ranges::max_element(map_.thread_of_group);
    for (std::size_t i = 0; i < count; ++i) {
      if (!map_.is_on_host(i)) map_.thread_of_group[i] = ++last;
    }
    map_.lanes.resize(map_.groups.size());
    return ok_status();
  }

  /// A plug-in that reserves cores exclusively refuses lanes; the group then stays undivided.
  Status split(std::size_t group) {
    const std::vector<std::int32_t> cores = made_[group].second.cores;
    const std::size_t num_lanes = std::min(cores.size(), kMaxLanes);
    if (num_lanes < 2) return ok_status();
    std::vector<std::shared_ptr<const backend::Group>> made;
    for (std::size_t i = 0; i < num_lanes; ++i) {
      const std::size_t begin = i * cores.size() / num_lanes;
      const std::size_t end = (i + 1) * cores.size() / num_lanes;
      auto lane =
          backend::Group::create(map_.groups[group]->shared_backend(), map_.groups[group]->device(),
                                 std::span(cores).subspan(begin, end - begin));
      if (!lane.is_ok()) return ok_status();
      made.push_back(std::move(lane).value());
    }
    for (std::size_t i = 0; i < num_lanes; ++i) {
      map_.lanes[group].push_back(static_cast<std::int32_t>(map_.groups.size()));
      map_.groups.push_back(std::move(made[i]));
      SLUICE_TRY(add_streams());
      map_.thread_of_group.push_back(i);
    }
    return ok_status();
  }

  void add_devices() {
    const auto add = [&](std::size_t group) {
      if (group < map_.groups.size()) map_.devices.push_back(map_.groups[group]->device());
    };
    std::ranges::for_each(map_.group_index, add);
    std::ranges::for_each(map_.group_of_backend, add);
  }

  const package::Executable& executable_;
  std::span<const BackendPointer> backends_;
  const LoadOptions& options_;
  ExecutorKind executor_;
  SegmentMap map_;
  std::vector<std::pair<std::size_t, SegmentPlacement>> made_;
};

}  // namespace

Result<bool> SegmentMap::has_events() const {
  if (groups.size() < 2) return false;
  const backend::Backend& first = groups.front()->backend();
  const auto is_its = [&](const auto& group) { return &group->backend() == &first; };
  return std::ranges::all_of(groups, is_its) && SLUICE_TRY(backend::Event::is_supported(first));
}

bool SegmentMap::is_on_host(std::size_t group) const {
  const auto device = static_cast<std::size_t>(groups[group]->device());
  return groups[group]->backend().devices()[device].has_host_memory;
}

bool SegmentMap::needs_copies() const {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!is_on_host(i)) return true;
  }
  return false;
}

std::size_t SegmentMap::group_at(const package::Executable& executable, ir::SubgraphId subgraph,
                                 std::size_t position) const {
  if (subgraph.index() == 0) return group_index[segment_of_position[position]];
  const std::int16_t backend = executable.backend_of[subgraph.index()][position];
  return group_of_backend[static_cast<std::size_t>(backend)];
}

Result<SegmentMap> map_segments(const package::Executable& executable,
                                std::span<const BackendPointer> backends,
                                const LoadOptions& options, ExecutorKind executor) {
  return Mapper(executable, backends, options, executor).run();
}

}  // namespace sluice::exec
