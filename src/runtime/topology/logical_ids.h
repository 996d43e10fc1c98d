// Logical ids: devices numbered in the order in which they are physically connected.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

/// The numbers [0, num_nodes) in an order that walks along `edges`, so that neighbours in the order
/// are neighbours in the graph wherever that can be. A chain starts at its end with the lower
/// number, a ring at its lowest number towards the lower neighbour; trees and meshes are walked
/// along a path through all nodes if one is found in a bounded search, else depth first. Components
/// come one after the other, by their lowest number. Pure; the same answer for the edges in any
/// order.
/// Requires: every edge joins two different nodes.
std::vector<std::size_t> order_along_links(
    std::size_t num_nodes, std::span<const std::pair<std::size_t, std::size_t>> edges);

/// Gives every device of `map` its logical id and puts the devices into that order. Those of kind
/// "cpu" come first, then by kind and plug-in; among those of one kind and plug-in the order walks
/// along the links between them. It does not depend on the order in which devices were found, only
/// on addresses, plug-in numbers, NUMA nodes and names.
/// Requires: link ends are ids of the map's devices.
DeviceMap with_logical_ids(DeviceMap map);

/// Whether a run of cores may pass from one device to the other: linked, of one kind and plug-in.
bool are_adjacent(const DeviceMap& map, const Device& a, const Device& b);

/// The part of a machine that one runtime owns: these devices with their ids, in an order in which
/// each is adjacent to the one before, and the links among them. Devices of different kinds or
/// plug-ins are ordered apart.
/// Fails: kInvalidArgument  none named, or one named twice
///        kNotFound         the map has no such device
///        kFailedPrecondition  devices of one kind do not form one chain; the message says where it
///                             breaks
Result<DeviceMap> select_devices(const DeviceMap& map, std::span<const DeviceId> ids);

}  // namespace sluice::runtime
