// Where devices are found: each source looks at one thing, and says so when it finds nothing.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "base/result.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

/// What one source found. Ids are places in `devices`; links are between these.
struct Findings {
  std::vector<Device> devices = {};
  std::vector<Link> links = {};
  SourceReport report = {};
};

/// What hwloc looks at; of the two texts one at most. Empty: this machine.
struct HwlocInput {
  /// hwloc's description of a machine that is not there: "numa:2 core:8 pu:2".
  std::string synthetic = {};
  /// hwloc's XML of another machine.
  std::string xml = {};
};

/// The processors as hwloc sees them: a device of kind "cpu" for every NUMA node that has cores, or
/// for every package where those are more; linked with each other. And the PCI devices that
/// compute, without cores, as nothing here drives them, each linked with the node it hangs on. Of
/// this machine only the processors that this process may use. Fails: kInvalidArgument  a text that
/// hwloc does not understand
///        kUnavailable      the build has no hwloc, or it failed
Result<Findings> find_hwloc(const HwlocInput& input = {});

/// The GPUs that NVIDIA's management library tells of, with their links; without cores, as it
/// drives none. `library` is opened by dlopen. A machine without it is nothing wrong: the report
/// says why nothing was found.
Findings find_nvml(const std::filesystem::path& library = "libnvidia-ml.so.1");

/// The devices of all plug-ins of a registry, but for the host's own processors if `has_cpus` says
/// that another source has told them. `simulated`: those that simulate hardware, or those that do
/// not.
Findings find_plugin_devices(std::span<const backend::Plugin> plugins, bool has_cpus,
                             bool simulated);

}  // namespace sluice::runtime
