// Looks at everything that can tell of devices and makes one map of it.
#pragma once

#include <string>

#include "backend/registry.h"
#include "base/result.h"
#include "runtime/topology/device_map.h"
#include "runtime/topology/sources.h"

namespace sluice::runtime {

struct DiscoveryOptions {
  /// A machine as hwloc's synthetic strings describe it, in place of this one.
  std::string synthetic = {};
  /// Simulated devices: only those, or with `synthetic` beside the machine it describes.
  bool only_simulated = false;
  std::filesystem::path nvml_library = "libnvidia-ml.so.1";
};

/// The map with logical ids. A device that several sources tell of, by bus address, is one. Never
/// fails because a source has nothing: `sources` of the map says what each had to tell.
/// Fails: kInvalidArgument  a synthetic description that hwloc does not understand
Result<DeviceMap> discover_devices(const backend::BackendRegistry& plugins,
                                   const DiscoveryOptions& options = {});

/// Puts several sources' findings together, later ones filling in what earlier ones left open.
DeviceMap merge_findings(std::vector<Findings> all);

}  // namespace sluice::runtime
