// Merges all sources of devices into one device map.
#pragma once

#include <string>

#include "backend/registry.h"
#include "base/result.h"
#include "topology/discovery/sources.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

struct DiscoveryOptions {
  /// A synthetic description of hwloc, which replaces this machine.
  std::string synthetic = {};
  /// Ignore real devices; with `synthetic` its machine stays.
  bool only_simulated = false;
  std::filesystem::path nvml_library = "libnvidia-ml.so.1";
};

/// The map with logical ids. Devices that several sources report under one bus address are merged.
/// A source without devices is no error: `sources` of the map has a report of every source. Fails:
/// kInvalidArgument  hwloc does not understand the synthetic description
Result<DeviceMap> discover_devices(const backend::BackendRegistry& plugins,
                                   const DiscoveryOptions& options = {});

/// Merges the findings of several sources. Earlier findings win; later ones fill empty fields.
DeviceMap merge_findings(std::vector<Findings> all);

}  // namespace sluice::topology
