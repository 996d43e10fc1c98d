// What a machine has to run models on: devices, their cores and memory, and the links between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace sluice::runtime {

struct DeviceTag;
/// A device's logical id: its place in the machine's map. Ids follow the links (logical_ids.h).
using DeviceId = Id<DeviceTag>;

/// Kind of the host's own processors, which every plug-in with a device of that kind drives.
inline constexpr std::string_view kCpuKind = "cpu";

/// Caches of one sort in a device: 8 of 2 MiB, called "L2".
struct Cache {
  std::string name = {};
  std::int64_t size_bytes = 0;
  std::int32_t count = 0;

  bool operator==(const Cache&) const = default;
};

struct Device {
  DeviceId id = {};
  std::string kind = {};  ///< "cpu", "gpu", "sim"
  std::string name = {};  ///< for people
  std::string backend =
      {};  ///< the plug-in that drives it; empty for kind "cpu", and if there is none
  std::int32_t backend_index = -1;  ///< its number in that plug-in; -1 without one
  std::string bus_address = {};     ///< "0000:1c:00.0"; empty if it has none
  std::int32_t numa_node = -1;      ///< -1 if it is near none, or that is not known
  std::int32_t num_cores = 0;       ///< units of allocation; 0 if no plug-in drives it
  std::int64_t memory_bytes = 0;    ///< 0 if not known
  /// [core][hardware thread]: the operating system's numbers of processors; empty unless "cpu".
  std::vector<std::vector<std::int32_t>> cpus = {};
  std::vector<Cache> caches = {};
  std::vector<std::string> features = {};  ///< what a model may ask for by name, sorted

  bool operator==(const Device&) const = default;
};

/// A direct connection of two devices, the same both ways.
struct Link {
  DeviceId a = {};
  DeviceId b = {};
  std::string kind = {};                        ///< "nvlink", "pcie", "numa", "sim"
  std::int64_t bandwidth_bytes_per_second = 0;  ///< each way; 0 if not known
  std::int64_t latency_ns = 0;                  ///< 0 if not known

  bool operator==(const Link&) const = default;
};

/// What a source of devices had to say.
struct SourceReport {
  std::string source = {};  ///< "hwloc", "nvml", "plug-ins"
  std::int32_t num_devices = 0;
  std::string reason = {};  ///< why it found nothing, or not all; empty if there is nothing to say

  bool operator==(const SourceReport&) const = default;
};

/// Plain data, immutable once made. The order of `devices` is the order in which a run of cores
/// passes from one device to the next.
struct DeviceMap {
  std::vector<Device> devices = {};
  std::vector<Link> links;
  std::vector<SourceReport> sources;

  bool operator==(const DeviceMap&) const = default;
};

/// One core of a device.
struct CoreRef {
  DeviceId device = {};
  std::int32_t core = 0;

  auto operator<=>(const CoreRef&) const = default;
};

/// Null if the map has no such device. The device is the map's.
const Device* find_device(const DeviceMap& map, DeviceId id);
/// Null if no device of the map has this address; "1c:00.0" finds "0000:1c:00.0".
const Device* find_device_at(const DeviceMap& map, std::string_view bus_address);

bool are_linked(const DeviceMap& map, DeviceId a, DeviceId b);
/// In ascending order.
std::vector<DeviceId> linked_with(const DeviceMap& map, DeviceId id);

/// "device 2 (0000:1c:00.0)", or "device 2" without an address.
std::string describe(const Device& device);

}  // namespace sluice::runtime
