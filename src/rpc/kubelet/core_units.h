// The cores of a node in equal groups, as Kubernetes counts them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "terms/device.h"

namespace sluice::rpc::kubelet {

/// So many cores of one device. Which ones is the daemon's choice when a client makes the group.
struct CoreUnit {
  std::string id;  ///< "device0-group1": the second group of device 0; at most 63 characters
  terms::DeviceId device = {};
  std::int32_t group = 0;       ///< its number in the device
  std::int32_t numa_node = -1;  ///< -1: none, or unknown
  bool is_healthy = true;

  bool operator==(const CoreUnit&) const = default;
};

/// All whole groups of `cores` cores, in the order of the devices. Cores that fill no group are in
/// none.
std::vector<CoreUnit> core_units(std::span<const terms::Device> devices, std::int32_t cores);

/// Null if there is none of this id.
const CoreUnit* find_unit(std::span<const CoreUnit> units, std::string_view id);

/// Chooses `count` of the units in `available`, those of `required` among them, so that they lie on
/// few NUMA nodes and few devices: nodes that have a required unit first, then the node with the
/// fewest available units that are enough. Unknown ids count as units of no node.
/// Fails: kInvalidArgument if more are required than `count`, or fewer are available.
Result<std::vector<std::string>> preferred_units(std::span<const CoreUnit> units,
                                                 std::span<const std::string> available,
                                                 std::span<const std::string> required,
                                                 std::int32_t count);

}  // namespace sluice::rpc::kubelet
