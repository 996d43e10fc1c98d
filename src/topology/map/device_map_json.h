// The JSON form of a device map: docs/formats/device-map.md.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

inline constexpr std::int32_t kDeviceMapMajor = 1;
inline constexpr std::int32_t kDeviceMapMinor = 0;

/// Indented, with a final line end. parse_device_map restores an equal map if the map keeps the
/// limits of the format. Bytes that are not UTF-8 are replaced.
std::string print_device_map(const DeviceMap& map);

/// Checks types and ranges, that ids count up from 0, and that each link joins two devices of the
/// map once. Ignores unknown fields.
/// Fails: kInvalidArgument     with the position in the text and the expected value
///        kFailedPrecondition  another major version
Result<DeviceMap> parse_device_map(std::string_view text);

/// Fails: as parse_device_map, with the file's name; kNotFound, kPermissionDenied.
Result<DeviceMap> read_device_map(const std::filesystem::path& path);
/// Replaces the file atomically: readers, and a power failure, see the old map or the new.
Status write_device_map(const std::filesystem::path& path, const DeviceMap& map);

}  // namespace sluice::topology
