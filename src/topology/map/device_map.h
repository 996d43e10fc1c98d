// The devices of a machine, their cores and memory, and the links between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace sluice::topology {

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
  std::string kind = {};            ///< "cpu", "gpu", "sim"
  std::string name = {};            ///< for people
  std::string backend = {};         ///< the plug-in that drives it, if any; empty for kind "cpu"
  std::int32_t backend_index = -1;  ///< its number in the plug-in; -1 without a plug-in
  std::string bus_address = {};     ///< "0000:1c:00.0"; empty if it has none
  std::int32_t numa_node = -1;      ///< -1: none, or unknown
  std::int32_t num_cores = 0;       ///< units of allocation; 0 if no plug-in drives it
  std::int64_t memory_bytes = 0;    ///< 0 if not known
  /// [core][hardware thread]: the operating system's numbers of processors; empty unless "cpu".
  std::vector<std::vector<std::int32_t>> cpus = {};
  std::vector<Cache> caches = {};
  std::vector<std::string> features = {};  ///< that a request may name; sorted

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

/// The report of one source of devices.
struct SourceReport {
  std::string source = {};  ///< "hwloc", "nvml", "plug-ins"
  std::int32_t num_devices = 0;
  std::string reason = {};  ///< why devices are missing; empty if none are

  bool operator==(const SourceReport&) const = default;
};

/// Plain data, immutable once made. Core ranges continue across `devices` in their order here.
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

/// Null if the map has no such device. The map owns the result.
const Device* find_device(const DeviceMap& map, DeviceId id);
/// Null if no device of the map has this address; "1c:00.0" finds "0000:1c:00.0".
const Device* find_device_at(const DeviceMap& map, std::string_view bus_address);

bool are_linked(const DeviceMap& map, DeviceId a, DeviceId b);
/// In ascending order.
std::vector<DeviceId> linked_with(const DeviceMap& map, DeviceId id);

/// "device 2 (0000:1c:00.0)", or "device 2" without an address.
std::string describe(const Device& device);

}  // namespace sluice::topology
