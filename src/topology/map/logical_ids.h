// Logical ids: devices numbered along their physical links.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

/// The numbers [0, num_nodes) in an order along `edges`: neighbours in the order are neighbours in
/// the graph where possible. A chain starts at its end with the lower number, a ring at its lowest
/// number towards the lower neighbour. Trees and meshes use a path through all nodes if a bounded
/// search finds one, else depth-first order. Connected components follow in the order of their
/// lowest number. Pure: the order of `edges` does not change the result. Requires: every edge joins
/// two different nodes.
std::vector<std::size_t> order_along_links(
    std::size_t num_nodes, std::span<const std::pair<std::size_t, std::size_t>> edges);

/// Assigns logical ids and sorts the devices by them. Kind "cpu" is first, then devices by kind and
/// plug-in, and devices of one kind and plug-in along their links. The result depends on addresses,
/// plug-in numbers, NUMA nodes and names, not on the order of discovery.
/// Requires: link ends are ids of devices of the map.
DeviceMap with_logical_ids(DeviceMap map);

/// Whether a core range may continue from one device on the other: they are linked, of one kind and
/// plug-in.
bool are_adjacent(const DeviceMap& map, const terms::Device& a, const terms::Device& b);

/// The part of a machine that one runtime owns: the devices `ids` in an order of adjacent devices,
/// and their links. Devices of different kinds or plug-ins are ordered separately.
/// Fails: kInvalidArgument     no id, or an id twice
///        kNotFound            the map has no such device
///        kFailedPrecondition  devices of one kind do not form one chain; the message names the gap
Result<DeviceMap> select_devices(const DeviceMap& map, std::span<const terms::DeviceId> ids);

}  // namespace sluice::topology
