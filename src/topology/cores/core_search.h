// Finds a core range among the free cores: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "topology/cores/core_request.h"
#include "topology/map/device_map.h"

namespace sluice::topology {

struct CoreGroupTag;
/// Handle of a core group, unique for the life of the process.
using CoreGroupId = Id<CoreGroupTag>;

/// The cores of adjacent devices, in the order of core ranges. `is_ring`: the last device is
/// adjacent to the first, where a range may continue.
struct CoreChain {
  std::vector<CoreRef> cores = {};
  std::vector<std::int32_t> device_number;  ///< by core: number of devices before its own
  bool is_ring = false;
};

/// The chains of a map, in the order of its devices. Devices without cores are in none.
std::vector<CoreChain> core_chains(const DeviceMap& map);

/// Owned cores and free memory. A device of unknown memory has no entry in `free_bytes`.
struct CoreState {
  std::map<CoreRef, CoreGroupId> owners;
  std::map<DeviceId, std::int64_t> free_bytes;
};

/// Every core and byte free.
CoreState empty_state(const DeviceMap& map);

struct MemoryShare {
  DeviceId device = {};
  std::int64_t bytes = 0;
};

/// The cores and memory of a group.
struct Reservation {
  std::vector<CoreRef> cores = {};       ///< in the order of the range
  std::vector<MemoryShare> memory = {};  ///< by device; devices of unknown memory have no share
};

/// Whether a device has the kind, features, id and address of the request.
bool is_eligible(const Device& device, const CoreRequest& request);

/// The best fit, as core_allocator.h defines it; nullopt if no range fits.
/// Requires: the map has every device and core that the request names.
std::optional<Reservation> find_cores(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                      const CoreState& state, const CoreRequest& request);

/// Length of the longest free core range on eligible devices.
std::int32_t longest_free_range(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                const CoreState& state, const CoreRequest& request);

}  // namespace sluice::topology
