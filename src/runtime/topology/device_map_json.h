// The JSON form of a device map: docs/formats/device-map.md.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

inline constexpr std::int32_t kDeviceMapMajor = 1;
inline constexpr std::int32_t kDeviceMapMinor = 0;

/// Indented, a final line end; parse_device_map(print) == map for a map that keeps the limits of
/// the format. Bytes of a text that are not UTF-8 are replaced.
std::string print_device_map(const DeviceMap& map);

/// Checks everything: types, ranges, that ids count up from 0, that links join two devices of the
/// map and none twice. Unknown fields are ignored.
/// Fails: kInvalidArgument     with the place in the text and what was expected there
///        kFailedPrecondition  another major version
Result<DeviceMap> parse_device_map(std::string_view text);

/// Fails: as parse_device_map, with the file's name; kNotFound, kPermissionDenied.
Result<DeviceMap> read_device_map(const std::filesystem::path& path);
/// Replaces the file as a whole: a reader sees the old map or the new, a power failure leaves one.
Status write_device_map(const std::filesystem::path& path, const DeviceMap& map);

}  // namespace sluice::runtime
