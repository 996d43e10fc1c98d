// Looks at the sensors of all devices of a map.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "topology/discovery/nvml_api.h"
#include "topology/map/device_map.h"
#include "topology/sensors/sysfs_sensors.h"

namespace sluice::topology {

/// Where sensors are.
struct SensorPlaces {
  std::filesystem::path sysfs = "/sys";
  std::filesystem::path nvml_library = "libnvidia-ml.so.1";  ///< opened by dlopen
};

/// Not thread-safe.
class SensorReader {
 public:
  /// Opens the library if the map has a GPU; without it, sysfs alone answers.
  SensorReader(DeviceMap map, const SensorPlaces& places);

  const DeviceMap& map() const { return map_; }
  /// Reads each device, in the order of the map. Takes some milliseconds: drivers ask the hardware.
  /// `now_ns`: on one monotonic clock.
  std::vector<terms::Sensors> read(std::int64_t now_ns);

 private:
  terms::Sensors read_gpu(terms::DeviceId device, NvmlDevice handle);

  const DeviceMap map_;
  SysfsSensors sysfs_;
  std::optional<Nvml> nvml_;
  std::map<terms::DeviceId, NvmlDevice> gpus_;
  struct Slowdowns {
    bool is_slow = false;
    std::int64_t count = 0;
  };
  std::map<terms::DeviceId, Slowdowns> slowdowns_;  ///< NVML tells the state: the reader counts
};

}  // namespace sluice::topology
