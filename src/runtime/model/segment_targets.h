// What a package's segments need, and which plug-ins run them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "runtime/model/load_plan.h"

namespace sluice::runtime {

struct SegmentTargets {
  std::string kind;  ///< of the devices that a group for the model has: "cpu", "sim"
  std::vector<SegmentNeed> needs;
  std::vector<std::shared_ptr<const backend::Backend>> backends;  ///< by segment

  std::int32_t num_host_segments() const;
};

/// Segments on a backend for the host's processors need no cores of a group of another kind.
/// Fails: kInvalid for a package whose segments make no sense or whose backends are not there.
Result<SegmentTargets> find_targets(const package::Executable& executable,
                                    const backend::BackendRegistry& backends);

/// Where `plan` puts the segments, in the plug-ins' own numbers. Host segments beside a group of
/// another kind run on one of the host's processors.
/// Fails: what plugin_cores reports.
Result<exec::LoadOptions> place_segments(const SegmentTargets& targets, const LoadPlan& plan,
                                         const DeviceMap& map);

}  // namespace sluice::runtime
