// Finds a core range among the free cores: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "terms/core_request.h"
#include "terms/group.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

/// "4 cores of kind \"gpu\" on device 2": for messages.
std::string describe(const terms::CoreRequest& request);

/// The cores of adjacent devices, in the order of core ranges. `is_ring`: the last device is
/// adjacent to the first, where a range may continue.
struct CoreChain {
  std::vector<terms::CoreRef> cores = {};
  std::vector<std::int32_t> device_number;  ///< by core: number of devices before its own
  bool is_ring = false;
};

/// The chains of a map, in the order of its devices. Devices without cores are in none.
std::vector<CoreChain> core_chains(const DeviceMap& map);

/// Owned cores and free memory. A device of unknown memory has no entry in `free_bytes`.
struct CoreState {
  std::map<terms::CoreRef, terms::CoreGroupId> owners;
  std::map<terms::DeviceId, std::int64_t> free_bytes;
  std::map<terms::DeviceId, std::string> unfit;  ///< devices that get no new group, and why
};

/// Every core and byte free, every device fit.
CoreState empty_state(const DeviceMap& map);

struct MemoryShare {
  terms::DeviceId device = {};
  std::int64_t bytes = 0;
};

/// The cores and memory of a group.
struct Reservation {
  std::vector<terms::CoreRef> cores = {};  ///< in the order of the range
  std::vector<MemoryShare> memory = {};    ///< by device; devices of unknown memory have no share
};

/// Whether a device has the kind, features, id and address of the request.
bool is_eligible(const terms::Device& device, const terms::CoreRequest& request);

/// The best fit, as core_allocator.h defines it; nullopt if no range fits.
/// Requires: the map has every device and core that the request names.
std::optional<Reservation> find_cores(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                      const CoreState& state, const terms::CoreRequest& request);

/// Length of the longest free core range on eligible devices.
std::int32_t longest_free_range(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                const CoreState& state, const terms::CoreRequest& request);

}  // namespace sluice::topology
