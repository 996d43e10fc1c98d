// The cores and plug-ins of a package's segments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "runtime/model/load_plan.h"
#include "terms/core_request.h"
#include "topology/map/device_map.h"

namespace sluice::runtime {

struct SegmentTargets {
  std::string kind;  ///< of the devices of a group for the model: "cpu", "sim"
  std::vector<SegmentNeed> needs;
  std::vector<std::shared_ptr<const backend::Backend>> backends;  ///< by segment

  std::int32_t num_host_segments() const;
};

/// Segments on a backend for the host's processors need no cores of a group of another kind.
/// Fails: kInvalid for inconsistent segments or missing backends.
Result<SegmentTargets> find_targets(const package::Executable& executable,
                                    const backend::BackendRegistry& backends);

/// Segments of one plug-in for devices of another kind than the group's.
struct FurtherSegments {
  std::vector<std::size_t> numbers;
  terms::CoreRequest request;  ///< their cores, which the group gets
};

/// One entry per plug-in.
/// Fails: kFailedPrecondition for a segment of a kind of devices that `map` lacks.
Result<std::vector<FurtherSegments>> find_further(const SegmentTargets& targets,
                                                  const topology::DeviceMap& map);

/// The cores of `plan` in the numbers of the plug-ins. Segments without cores are the host's in a
/// group of another kind; each runs on one of its processors. Fails: as plugin_cores.
Result<exec::LoadOptions> place_segments(const SegmentTargets& targets, const LoadPlan& plan,
                                         const topology::DeviceMap& map);

}  // namespace sluice::runtime
