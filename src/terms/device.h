// Devices and their cores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "terms/field.h"

namespace sluice::terms {

struct DeviceTag;
/// A device's logical id: its place in the machine's map. Ids follow the links
/// (topology/map/logical_ids.h).
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

  SLUICE_FIELDS(kind, name, bus_address, num_cores, memory_bytes)

  bool operator==(const Device&) const = default;
};

/// One core of a device.
struct CoreRef {
  DeviceId device = {};
  std::int32_t core = 0;

  auto operator<=>(const CoreRef&) const = default;
};

}  // namespace sluice::terms
