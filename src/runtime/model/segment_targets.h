// The cores and plug-ins of a package's segments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "runtime/model/load_plan.h"
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

/// The cores of `plan` in the numbers of the plug-ins. A host segment in a group of another kind
/// runs on one host processor, and a segment of a second kind of devices on the first of `map`.
/// Fails: as plugin_cores; kFailedPrecondition for a segment of a kind that `map` lacks.
Result<exec::LoadOptions> place_segments(const SegmentTargets& targets, const LoadPlan& plan,
                                         const topology::DeviceMap& map);

}  // namespace sluice::runtime
