// From the map's devices and cores to those of a plug-in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

/// What a plug-in's group_create takes.
struct PluginCores {
  std::int32_t device = 0;
  std::vector<std::int32_t> cores = {};

  bool operator==(const PluginCores&) const = default;
};

/// Translates the cores `cores` of `map` to the numbers of the plug-in `backend` with the devices
/// `devices`. A device that the plug-in drives uses the plug-in's own numbers. Those of kind "cpu"
/// are looked up by processor in the plug-in's first device of that kind, whose core i is the i-th
/// of `process_cpus`; so the cores of several NUMA nodes come out as those of one device.
/// Requires: cores of the map.
/// Fails: kInvalidArgument     no cores, or on different devices of the plug-in
///        kFailedPrecondition  the plug-in does not drive the device, lost it, or may not use a
///                             processor; the message says which
Result<PluginCores> plugin_cores(const DeviceMap& map, std::span<const terms::CoreRef> cores,
                                 std::string_view backend,
                                 std::span<const backend::DeviceInfo> devices,
                                 std::span<const std::int32_t> usable_cpus);

/// The processors of the host's cores among `cores`, ascending; a core may have several.
/// Requires: the map has their devices.
std::vector<std::int32_t> cpus_of(const DeviceMap& map, std::span<const terms::CoreRef> cores);

}  // namespace sluice::topology
