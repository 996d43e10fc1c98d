// Which machine's devices a command shows.
#pragma once

#include <array>
#include <string>

#include "base/result.h"
#include "sluice/cli/options.h"
#include "topology/map/device_map.h"

namespace sluice::tool {

/// Options that the commands about devices share. Without them a command shows this machine.
struct DeviceOptions {
  std::string synthetic;  ///< hwloc's description of another machine
  std::string sim;        ///< file that describes simulated devices

  /// The two options, for commands that take a machine in another way too.
  std::array<Option, 2> add_to(Options& options);
};

/// Finds the devices. Fails: as topology::discover_devices; kNotFound without the plug-in `sim`;
/// the plug-in's error if it refuses the description.
Result<topology::DeviceMap> discover(const DeviceOptions& options);

}  // namespace sluice::tool
