// A request for cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "terms/device.h"

namespace sluice::terms {

/// Asks for one core range: consecutive cores within a device, continued from its last core to the
/// first core of a linked device. The filters select eligible devices.
struct CoreRequest {
  /// 0: the longest free range, or with `num_devices` all cores of the devices.
  std::int32_t num_cores = 0;
  /// Above 0: this number of whole devices in a row of links, with at least `num_cores` cores in
  /// total.
  std::int32_t num_devices = 0;
  /// Sizes of the parts into which a model divides the range. Each part lies on one device; cores
  /// at the end of a device stay idle if the next part does not fit there, which makes the range
  /// longer than `num_cores`. Empty: no parts.
  std::vector<std::int32_t> parts = {};
  /// The first core of the range.
  std::optional<CoreRef> first = {};
  /// Free memory that the devices must have, divided among them in proportion to their cores. 0:
  /// the unreserved memory, at most the cores' share of their device.
  std::int64_t memory_bytes = 0;

  std::string kind = {};                        ///< empty: any
  std::vector<std::string> features = {};       ///< all of them
  std::vector<DeviceId> devices = {};           ///< only these; empty: any
  std::vector<std::string> bus_addresses = {};  ///< only these; empty: any
};

}  // namespace sluice::terms
