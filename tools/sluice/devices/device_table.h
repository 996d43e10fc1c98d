// A device map as a person reads it.
#pragma once

#include <string>
#include <vector>

#include "topology/map/device_map.h"

namespace sluice::tool {

/// One line per device under a line of titles; each column is as wide as its widest entry.
/// `is_wide` adds plug-in, processors, caches and features. Unknown values are "-".
std::string device_table(const topology::DeviceMap& map, bool is_wide);

/// "16 GiB", "1.5 MiB", "-" for 0.
std::string format_bytes(std::int64_t bytes);

/// "0-3,8": ascending numbers, runs of them joined.
std::string format_numbers(std::vector<std::int32_t> numbers);

}  // namespace sluice::tool
