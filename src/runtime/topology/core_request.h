// What somebody who wants cores asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/topology/device_map.h"

namespace sluice::runtime {

/// Cores of one contiguous run: neighbours within a device, and from a device's last core to the
/// first of the next where the two are linked. The filters say which devices may take part.
struct CoreRequest {
  /// 0: the largest run that is free, or with `num_devices` all cores of the devices.
  std::int32_t num_cores = 0;
  /// Above 0: that many whole devices, each linked with the one before, with at least `num_cores`
  /// cores together.
  std::int32_t num_devices = 0;
  /// What the run is for: so many cores each, one part behind the other, every part on one device.
  /// Where a part would lie on two, the cores before the second are left idle: the run is longer
  /// then than `num_cores`. Empty: no parts.
  std::vector<std::int32_t> parts = {};
  /// The run starts here.
  std::optional<CoreRef> first = {};
  /// Memory that the run's devices must have free, shared among them by cores. 0: whatever is left,
  /// at most the cores' share of their device.
  std::int64_t memory_bytes = 0;

  std::string kind = {};                        ///< empty: any
  std::vector<std::string> features = {};       ///< all of them
  std::vector<DeviceId> devices = {};           ///< only these; empty: any
  std::vector<std::string> bus_addresses = {};  ///< only these; empty: any
};

/// "4 cores of kind \"gpu\" on device 2": for messages.
std::string describe(const CoreRequest& request);

}  // namespace sluice::runtime
