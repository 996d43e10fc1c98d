// The links of a device map, drawn with letters.
#pragma once

#include <string>

#include "topology/map/device_map.h"

namespace sluice::tool {

/// A row for every chain of adjacent devices; a line under it for each further link within it; then
/// the links between rows, by kind:
///
///     cpu  0 --- 1              numa
///     gpu  2 --- 3 --- 4 --- 5  nvlink, 25.0 GB/s
///          +-----------------+
///     pcie: 0 - 2, 0 - 3, 1 - 4, 1 - 5
///
/// Empty for a map without devices.
std::string draw_links(const topology::DeviceMap& map);

}  // namespace sluice::tool
