// Device maps for tests.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "topology/map/device_map.h"

namespace sluice::topology::testing {

using Edges = std::vector<std::pair<int, int>>;

/// Simulated devices with these numbers of cores, device i at bus address 0000:00:<i>.0, ids as
/// given.
DeviceMap make_map(const std::vector<int>& cores, const Edges& edges);

/// Devices of `cores_each` cores in a row, or a ring.
DeviceMap make_chain(int num_devices, int cores_each);
DeviceMap make_ring(int num_devices, int cores_each);

/// Four devices of four cores in a row at 1c.0, 1d.0, 1e.0 and 1f.0.
DeviceMap four_in_a_row();

std::vector<terms::DeviceId> ids(std::initializer_list<int> numbers);

}  // namespace sluice::topology::testing
