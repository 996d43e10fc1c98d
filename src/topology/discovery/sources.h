// Sources of devices. Each source reports why it found none.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "base/result.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

/// The devices of one source. Ids and link ends are indices into `devices`.
struct Findings {
  std::vector<terms::Device> devices = {};
  std::vector<Link> links = {};
  SourceReport report = {};
};

/// The machine that hwloc inspects; at most one of the two texts. Empty: this machine.
struct HwlocInput {
  /// A synthetic description: "numa:2 core:8 pu:2".
  std::string synthetic = {};
  /// hwloc's XML of another machine.
  std::string xml = {};
};

/// Processors and PCI devices. Every NUMA node with cores is a device of kind "cpu", or every
/// package if there are more packages; they are linked with each other. PCI devices that compute
/// have no cores here and a link to their NUMA node. On this machine, only `process_cpus` count.
/// Fails: kInvalidArgument  hwloc does not understand the text
///        kUnavailable      the build has no hwloc, or hwloc failed
Result<Findings> find_hwloc(const HwlocInput& input = {});

/// The GPUs that NVIDIA's management library lists, with their links. They have no cores: a plug-in
/// adds them. `library` is opened by dlopen. If it is missing, the findings are empty and the
/// report says why.
Findings find_nvml(const std::filesystem::path& library = "libnvidia-ml.so.1");

/// The devices of all plug-ins of a registry. `has_cpus`: another source reported the processors,
/// so skip them. `simulated`: devices of plug-ins that simulate hardware, instead of real devices.
Findings find_plugin_devices(std::span<const backend::Plugin> plugins, bool has_cpus,
                             bool simulated);

}  // namespace sluice::topology
