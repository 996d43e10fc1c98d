#include "runtime/model/segment_targets.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/system/processor.h"
#include "operators/module.h"
#include "terms/runtime_code.h"
#include "topology/cores/plugin_cores.h"

namespace sluice::runtime {
namespace {

/// The kind of a plug-in is the kind of its first device.
const std::string& kind_of(const backend::Backend& backend) { return backend.devices()[0].kind; }

/// The backend of the operations [begin, end); the first backend if they need none.
std::size_t backend_of(const package::Executable& executable, std::size_t begin, std::size_t end) {
  std::int16_t number = 0;
  for (std::size_t place = begin; place < end; ++place) {
    number = std::max(number, executable.backend_of.front()[place]);
  }
  return static_cast<std::size_t>(number);
}

/// Any core of the devices of `backend` that are this engine's; others may be another daemon's.
Result<terms::CoreRequest> request_for(const backend::Backend& backend, const std::string& segment,
                                       const topology::DeviceMap& map) {
  terms::CoreRequest request;
  request.kind = kind_of(backend);
  for (const terms::Device& device : map.devices) {
    if (device.backend == backend.name()) request.devices.push_back(device.id);
  }
  if (!request.devices.empty()) return request;
  return make_error(Code::kFailedPrecondition,
                    "segment \"{}\" is for a device of kind \"{}\", and there is none here",
                    segment, request.kind);
}

}  // namespace

std::int32_t SegmentTargets::num_host_segments() const {
  return static_cast<std::int32_t>(std::ranges::count(needs, false, &SegmentNeed::is_on_group));
}

Result<SegmentTargets> find_targets(const package::Executable& executable,
                                    const backend::BackendRegistry& backends) {
  // First: the backend of the package's own operators comes with its module.
  const Status opened = operators::open_module_of(executable);
  if (!opened.is_ok()) return terms::with_runtime_code(opened, RuntimeCode::kInvalid);
  const auto specs = package::segments_of(executable);
  if (!specs.is_ok()) return terms::with_runtime_code(specs.status(), RuntimeCode::kInvalid);
  SegmentTargets targets = {std::string(terms::kCpuKind), {}, {}};
  for (std::size_t i = 0; i < specs->size(); ++i) {
    const package::SegmentSpec& spec = (*specs)[i];
    const std::size_t end = i + 1 < specs->size() ? (*specs)[i + 1].first_operation
                                                  : executable.backend_of.front().size();
    const std::size_t number = backend_of(executable, spec.first_operation, end);
    if (number >= executable.backends.size()) {
      return terms::runtime_error(RuntimeCode::kInvalid, "segment \"{}\" has no backend",
                                  spec.name);
    }
    auto backend = backends.find(executable.backends[number]);
    if (!backend.is_ok()) return terms::with_runtime_code(backend.status(), RuntimeCode::kInvalid);
    if (kind_of(**backend) != terms::kCpuKind) targets.kind = kind_of(**backend);
    targets.needs.push_back({spec.name, spec.cores, true});
    targets.backends.push_back(std::move(*backend));
  }
  for (std::size_t i = 0; i < targets.needs.size(); ++i) {
    targets.needs[i].is_on_group = kind_of(*targets.backends[i]) == targets.kind;
  }
  return targets;
}

Result<std::vector<FurtherSegments>> find_further(const SegmentTargets& targets,
                                                  const topology::DeviceMap& map) {
  std::map<std::string_view, FurtherSegments> by_backend;
  for (std::size_t i = 0; i < targets.needs.size(); ++i) {
    const backend::Backend& backend = *targets.backends[i];
    const SegmentNeed& need = targets.needs[i];
    if (need.is_on_group || kind_of(backend) == terms::kCpuKind) continue;
    FurtherSegments& further = by_backend[backend.name()];
    if (further.numbers.empty()) {
      further.request = SLUICE_TRY(request_for(backend, need.name, map));
    }
    further.numbers.push_back(i);
    further.request.num_cores = std::max(further.request.num_cores, need.cores);
    further.request.parts = {further.request.num_cores};  // on one device
  }
  std::vector<FurtherSegments> all;
  for (auto& [name, further] : by_backend) all.push_back(std::move(further));
  return all;
}

Result<exec::LoadOptions> place_segments(const SegmentTargets& targets, const LoadPlan& plan,
                                         const topology::DeviceMap& map) {
  exec::LoadOptions options;
  // Several segments, and segments of devices, overlap those of other requests instead.
  const bool is_whole = targets.needs.size() == 1 && targets.kind == terms::kCpuKind;
  options.executor = is_whole ? exec::ExecutorKind::kAsCompiled : exec::ExecutorKind::kLinear;
  const std::vector<std::int32_t> cpus = process_cpus();
  for (std::size_t i = 0; i < targets.needs.size(); ++i) {
    if (plan.cores[i].empty()) {
      options.segments.push_back({0, {0}});
      continue;
    }
    const backend::Backend& backend = *targets.backends[i];
    auto cores =
        topology::plugin_cores(map, plan.cores[i], backend.name(), backend.devices(), cpus);
    topology::PluginCores found = SLUICE_TRY(
        std::move(cores).with_context(fmt::format("segment \"{}\"", targets.needs[i].name)));
    options.segments.push_back({found.device, std::move(found.cores)});
  }
  return options;
}

}  // namespace sluice::runtime
