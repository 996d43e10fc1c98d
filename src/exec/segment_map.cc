#include "exec/segment_map.h"

#include <algorithm>
#include <numeric>

#include "backend/extensions/events.h"

namespace sluice::exec {
namespace {

using BackendPointer = std::shared_ptr<const backend::Backend>;

/// The first context finds its stream made. A program that creates contexts and drops them, one per
/// thread, reuses so many streams; a model with more contexts at a time takes more.
constexpr device::StreamPoolOptions kStreamOptions = {.made_ahead = 1, .max_unused = 16};

/// The placement of a segment if the options give none.
SegmentPlacement default_placement(const backend::Backend& backend, const LoadOptions& options) {
  if (!options.cores.empty()) return {0, options.cores};
  const int num_cores = std::max(1, backend.devices().front().num_cores);
  const int wanted = options.num_threads > 0 ? options.num_threads : num_cores;
  SegmentPlacement placement;
  placement.cores.resize(static_cast<std::size_t>(std::clamp(wanted, 1, num_cores)));
  std::iota(placement.cores.begin(), placement.cores.end(), 0);
  return placement;
}

class Mapper {
 public:
  Mapper(const package::Executable& executable, std::span<const BackendPointer> backends,
         const LoadOptions& options)
      : executable_(executable), backends_(backends), options_(options) {}

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
    const SegmentPlacement placement = options_.segments.empty()
                                           ? default_placement(*backends_[backend], options_)
                                           : options_.segments[index];
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

  Result<std::size_t> find_any(std::size_t backend) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].first == backend) return i;
    }
    if (options_.segments.empty()) {
      return find_or_make(backend, default_placement(*backends_[backend], options_));
    }
    return find_or_make(backend, {0, options_.segments.front().cores});
  }

  Result<std::size_t> find_or_make(std::size_t backend, const SegmentPlacement& placement) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].first == backend && made_[i].second == placement) return i;
    }
    const auto devices = backends_[backend]->devices();
    if (placement.device < 0 || static_cast<std::size_t>(placement.device) >= devices.size()) {
      return invalid_argument("backend \"{}\" has {} devices, no device {}",
                              backends_[backend]->name(), devices.size(), placement.device);
    }
    map_.groups.push_back(
        SLUICE_TRY(backend::Group::create(backends_[backend], placement.device, placement.cores)));
    map_.streams.push_back(
        SLUICE_TRY(device::StreamPool::create(map_.groups.back(), kStreamOptions)));
    made_.emplace_back(backend, placement);
    return made_.size() - 1;
  }

  const package::Executable& executable_;
  std::span<const BackendPointer> backends_;
  const LoadOptions& options_;
  SegmentMap map_;
  std::vector<std::pair<std::size_t, SegmentPlacement>> made_;
};

}  // namespace

std::vector<int> SegmentMap::devices() const {
  std::vector<int> devices;
  for (const std::size_t index : group_index) devices.push_back(groups[index]->device());
  for (const std::size_t index : group_of_backend) {
    if (index < groups.size()) devices.push_back(groups[index]->device());
  }
  return devices;
}

Result<bool> SegmentMap::has_events() const {
  if (groups.size() < 2) return false;
  const backend::Backend& first = groups.front()->backend();
  const auto is_its = [&](const auto& group) { return &group->backend() == &first; };
  return std::ranges::all_of(groups, is_its) && SLUICE_TRY(backend::Event::is_supported(first));
}

bool SegmentMap::needs_copies() const {
  return std::ranges::any_of(groups, [](const auto& group) {
    return !group->backend().devices()[static_cast<std::size_t>(group->device())].has_host_memory;
  });
}

std::size_t SegmentMap::group_at(const package::Executable& executable, ir::SubgraphId subgraph,
                                 std::size_t position) const {
  if (subgraph.index() == 0) return group_index[segment_of_position[position]];
  const std::int16_t backend = executable.backend_of[subgraph.index()][position];
  return group_of_backend[static_cast<std::size_t>(backend)];
}

Result<SegmentMap> map_segments(const package::Executable& executable,
                                std::span<const BackendPointer> backends,
                                const LoadOptions& options) {
  return Mapper(executable, backends, options).run();
}

}  // namespace sluice::exec
