// What a command line says of the machine whose devices are meant.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/result.h"
#include "runtime/topology/device_map.h"

namespace sluice::tool {

/// Options that the commands about devices share; without them this machine is meant.
struct DeviceOptions {
  std::string synthetic;  ///< hwloc's description of another machine
  std::string sim;        ///< file that describes simulated devices

  void add_to(CLI::App& app);
};

/// Looks for devices. Fails: as runtime::discover_devices; kNotFound without the plug-in `sim`, or
/// what that says of its description.
Result<runtime::DeviceMap> discover(const DeviceOptions& options);

}  // namespace sluice::tool
