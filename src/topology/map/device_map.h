// The devices of a machine, their cores and memory, and the links between them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "terms/device.h"

namespace sluice::topology {

/// A direct connection of two devices, the same both ways.
struct Link {
  terms::DeviceId a = {};
  terms::DeviceId b = {};
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
  std::vector<terms::Device> devices = {};
  std::vector<Link> links;
  std::vector<SourceReport> sources;

  bool operator==(const DeviceMap&) const = default;
};

/// Null if the map has no such device. The map owns the result.
const terms::Device* find_device(const DeviceMap& map, terms::DeviceId id);
/// Null if no device of the map has this address; "1c:00.0" finds "0000:1c:00.0".
const terms::Device* find_device_at(const DeviceMap& map, std::string_view bus_address);

bool are_linked(const DeviceMap& map, terms::DeviceId a, terms::DeviceId b);
/// In ascending order.
std::vector<terms::DeviceId> linked_with(const DeviceMap& map, terms::DeviceId id);

/// "device 2 (0000:1c:00.0)", or "device 2" without an address.
std::string describe(const terms::Device& device);

}  // namespace sluice::topology
