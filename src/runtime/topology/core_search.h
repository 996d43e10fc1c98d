// Where a run of cores fits: pure functions of what is free.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/topology/core_request.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

struct CoreGroupTag;
/// Handle of a core group, never given twice.
using CoreGroupId = Id<CoreGroupTag>;

/// Cores in the order in which a run passes them: those of devices that are adjacent, one after the
/// other. `is_ring`: the last device is adjacent to the first, and a run may go on there.
struct CoreChain {
  std::vector<CoreRef> cores = {};
  std::vector<std::int32_t>
      device_number;  ///< for each core: how many devices of the chain precede
  bool is_ring = false;
};

/// The chains of a map, in the order of its devices. Devices without cores are in none.
std::vector<CoreChain> core_chains(const DeviceMap& map);

/// What is taken. Devices whose memory is not known have no entry in `free_bytes`.
struct CoreState {
  std::map<CoreRef, CoreGroupId> owners;
  std::map<DeviceId, std::int64_t> free_bytes;
};

/// Nothing taken.
CoreState empty_state(const DeviceMap& map);

struct MemoryShare {
  DeviceId device = {};
  std::int64_t bytes = 0;
};

/// What a group is given.
struct Reservation {
  std::vector<CoreRef> cores = {};       ///< in the order of the run
  std::vector<MemoryShare> memory = {};  ///< of each of its devices whose memory is known
};

/// Whether a device's kind, features, id and address are what the request asks for.
bool is_eligible(const Device& device, const CoreRequest& request);

/// The placement that fits best; nullopt if there is none. What best means: core_allocator.h.
/// Requires: the request names what the map has.
std::optional<Reservation> find_cores(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                      const CoreState& state, const CoreRequest& request);

/// Length of the longest run of free cores on eligible devices.
std::int32_t longest_free_run(const DeviceMap& map, const std::vector<CoreChain>& chains,
                              const CoreState& state, const CoreRequest& request);

}  // namespace sluice::runtime
