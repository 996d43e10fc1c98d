// The sensors that Linux shows in sysfs: hwmon, powercap, EDAC and thermal_throttle.
// https://docs.kernel.org/hwmon/sysfs-interface.html
// https://docs.kernel.org/power/powercap/powercap.html
// https://docs.kernel.org/admin-guide/ras.html
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "terms/device.h"
#include "terms/server/sensors.h"

namespace sluice::topology {

/// Reads the files anew at each look. Not thread-safe.
class SysfsSensors {
 public:
  /// `root`: where sysfs is, usually /sys. A folder that is absent has no sensors.
  explicit SysfsSensors(std::filesystem::path root) : root_(std::move(root)) {}

  /// For processors: the sensors of the packages that their cores are in, which other devices may
  /// share. For a device with a bus address: those that its driver offers.
  /// `now_ns`: on one monotonic clock; powercap counts energy, so that the first look has no power.
  terms::Sensors read(const terms::Device& device, std::int64_t now_ns);

 private:
  struct Energy {
    std::int64_t microjoules = 0;
    std::int64_t time_ns = 0;
    /// Between the last two looks. None: there was one, or the counter may have wrapped unnoticed.
    std::optional<std::int64_t> power_uw;
  };

  void read_processors(const terms::Device& device, std::int64_t now_ns, terms::Sensors& to);
  void add_power(const std::filesystem::path& zone, std::int64_t now_ns, terms::Sensors& to);

  const std::filesystem::path root_;
  std::map<std::filesystem::path, Energy> energy_;  ///< by powercap zone
};

}  // namespace sluice::topology
