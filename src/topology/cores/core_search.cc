#include "topology/cores/core_search.h"

#include <algorithm>
#include <tuple>

#include "topology/map/logical_ids.h"

namespace sluice::topology {
namespace {

/// `length` free cores of a chain from index `start` on. `is_closed`: a whole ring is free.
struct CoreRange {
  const CoreChain* chain = nullptr;
  std::size_t start = 0;
  std::size_t length = 0;
  bool is_closed = false;

  std::size_t position(std::size_t offset) const { return (start + offset) % chain->cores.size(); }
};

/// A candidate: `length` cores of a free range from `offset` on.
struct Placement {
  CoreRange range;
  std::size_t offset = 0;
  std::size_t length = 0;
};

std::vector<bool> usable_cores(const DeviceMap& map, const CoreChain& chain, const CoreState& state,
                               const terms::CoreRequest& request) {
  std::vector<bool> is_usable;
  for (const terms::CoreRef& core : chain.cores) {
    // A core that the request may not use ends a range as one does that somebody owns.
    is_usable.push_back(!state.owners.contains(core) && !state.unfit.contains(core.device) &&
                        is_eligible(*find_device(map, core.device), request));
  }
  return is_usable;
}

void add_ranges(const CoreChain& chain, const std::vector<bool>& is_usable,
                std::vector<CoreRange>& ranges) {
  const std::size_t size = is_usable.size();
  const auto barrier = std::ranges::find(is_usable, false);
  if (barrier == is_usable.end()) {
    ranges.push_back({&chain, 0, size, chain.is_ring});
    return;
  }
  // A ring is read from an owned core on: no free range crosses that core, so none is cut in two.
  const std::size_t first =
      chain.is_ring ? static_cast<std::size_t>(barrier - is_usable.begin()) : 0;
  for (std::size_t i = 0; i < size;) {
    const auto at = [&](std::size_t offset) { return is_usable[(first + offset) % size]; };
    if (!at(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < size && at(end)) ++end;
    ranges.push_back({&chain, (first + i) % size, end - i, false});
    i = end;
  }
}

std::vector<CoreRange> free_ranges(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                   const CoreState& state, const terms::CoreRequest& request) {
  std::vector<CoreRange> ranges;
  for (const CoreChain& chain : chains) {
    add_ranges(chain, usable_cores(map, chain, state, request), ranges);
  }
  return ranges;
}

/// Number of cores of the `request.num_devices` whole devices from `offset` on; 0 if the range ends
/// before, or the devices have too few cores.
std::size_t whole_devices(const DeviceMap& map, const CoreRange& range, std::size_t offset,
                          const terms::CoreRequest& request) {
  std::size_t length = 0;
  for (std::int32_t i = 0; i < request.num_devices; ++i) {
    if (offset + length >= range.length) return 0;
    const terms::CoreRef& core = range.chain->cores[range.position(offset + length)];
    // A whole device starts at its first core.
    if (core.core != 0) return 0;
    length += static_cast<std::size_t>(find_device(map, core.device)->num_cores);
  }
  const bool fits = offset + length <= range.length;
  return fits && length >= static_cast<std::size_t>(request.num_cores) ? length : 0;
}

/// Number of cores from `offset` on that hold all parts, idle ones included; 0 if more than `left`.
std::size_t length_of_parts(const CoreRange& range, std::size_t offset, std::size_t left,
                            const std::vector<std::int32_t>& parts) {
  const auto device = [&](std::size_t at) {
    return range.chain->cores[range.position(offset + at)].device;
  };
  std::size_t end = 0;
  for (const std::int32_t part : parts) {
    const auto size = static_cast<std::size_t>(part);
    const auto is_split = [&] {
      return end + size <= left && device(end) != device(end + size - 1);
    };
    // A part lies on one device: where it would cross a border, the cores before the border stay
    // idle.
    while (is_split()) ++end;
    end += size;
    if (end > left) return 0;
  }
  return end;
}

/// Number of cores of the placement at `offset`; 0 if the request cannot start there.
std::size_t length_at(const DeviceMap& map, const CoreRange& range, std::size_t offset,
                      const terms::CoreRequest& request) {
  // Every offset of every free range is tried; the filters come before the costlier questions.
  if (request.first && range.chain->cores[range.position(offset)] != *request.first) return 0;
  const std::size_t left = range.is_closed ? range.length : range.length - offset;
  const std::size_t needed = length_of_parts(range, offset, left, request.parts);
  if (needed == 0 && !request.parts.empty()) return 0;
  if (request.num_devices > 0) {
    CoreRange from_here = range;
    from_here.start = range.position(offset);
    from_here.length = left;
    const std::size_t length = whole_devices(map, from_here, 0, request);
    return length >= needed ? length : 0;
  }
  const auto wanted = std::max(needed, static_cast<std::size_t>(request.num_cores));
  // Neither a number of cores nor parts: the request takes the whole range.
  if (wanted == 0) return left;
  return wanted <= left ? wanted : 0;
}

std::int32_t devices_touched(const Placement& placement) {
  const CoreChain& chain = *placement.range.chain;
  const std::size_t first = placement.range.position(placement.offset);
  const std::size_t last = placement.range.position(placement.offset + placement.length - 1);
  const std::int32_t step = chain.device_number[last] - chain.device_number[first];
  return last >= first ? step + 1 : step + 1 + chain.device_number.back() + 1;
}

/// Number of free pieces that the placement leaves of its range.
int pieces_left(const Placement& placement) {
  if (placement.range.is_closed) return placement.length < placement.range.length ? 1 : 0;
  const bool has_before = placement.offset > 0;
  const bool has_after = placement.offset + placement.length < placement.range.length;
  return static_cast<int>(has_before) + static_cast<int>(has_after);
}

/// Lower is better. A request for 0 cores prefers the longest placement, other requests the
/// shortest.
auto cost_of(const Placement& placement, const terms::CoreRequest& request) {
  const auto length = static_cast<std::int64_t>(placement.length);
  const bool wants_most = request.num_cores == 0 && request.num_devices == 0;
  return std::tuple(wants_most ? -length : length, placement.range.length, pieces_left(placement),
                    devices_touched(placement));
}

std::vector<terms::CoreRef> cores_of(const Placement& placement) {
  std::vector<terms::CoreRef> cores;
  for (std::size_t i = 0; i < placement.length; ++i) {
    cores.push_back(placement.range.chain->cores[placement.range.position(placement.offset + i)]);
  }
  return cores;
}

/// part / whole of `bytes`, rounded down, without overflow for any memory size.
std::int64_t share_of(std::int64_t bytes, std::int64_t part, std::int64_t whole) {
  return bytes / whole * part + bytes % whole * part / whole;
}

/// Memory of each device for these cores; nullopt if a device has too little.
std::optional<std::vector<MemoryShare>> memory_for(const DeviceMap& map, const CoreState& state,
                                                   const std::vector<terms::CoreRef>& cores,
                                                   std::int64_t wanted_bytes) {
  std::map<terms::DeviceId, std::int64_t> num_cores;
  for (const terms::CoreRef& core : cores) ++num_cores[core.device];
  std::vector<MemoryShare> shares;
  for (const auto& [device, count] : num_cores) {
    const auto left = state.free_bytes.find(device);
    if (left == state.free_bytes.end()) continue;
    const terms::Device& described = *find_device(map, device);
    const std::int64_t wanted =
        wanted_bytes > 0
            ? share_of(wanted_bytes, count, static_cast<std::int64_t>(cores.size()))
            : std::min(left->second, share_of(described.memory_bytes, count, described.num_cores));
    if (wanted > left->second) return std::nullopt;
    shares.push_back({device, wanted});
  }
  return shares;
}

}  // namespace

std::vector<CoreChain> core_chains(const DeviceMap& map) {
  std::vector<CoreChain> chains;
  const terms::Device* before = nullptr;
  const terms::Device* first = nullptr;
  const auto close_ring = [&] {
    if (first == nullptr || chains.back().device_number.back() < 2) return;
    chains.back().is_ring = are_adjacent(map, *before, *first);
  };
  for (const terms::Device& device : map.devices) {
    if (device.num_cores == 0) continue;
    if (before == nullptr || !are_adjacent(map, *before, device)) {
      close_ring();
      chains.emplace_back();
      first = &device;
    }
    CoreChain& chain = chains.back();
    const std::int32_t number = chain.device_number.empty() ? 0 : chain.device_number.back() + 1;
    for (std::int32_t core = 0; core < device.num_cores; ++core) {
      chain.cores.push_back({device.id, core});
      chain.device_number.push_back(number);
    }
    before = &device;
  }
  close_ring();
  return chains;
}

CoreState empty_state(const DeviceMap& map) {
  CoreState state;
  for (const terms::Device& device : map.devices) {
    if (device.memory_bytes > 0) state.free_bytes[device.id] = device.memory_bytes;
  }
  return state;
}

bool is_eligible(const terms::Device& device, const terms::CoreRequest& request) {
  const auto has = [](const auto& list, const auto& value) {
    return std::ranges::find(list, value) != list.end();
  };
  if (device.num_cores == 0) return false;
  if (!request.kind.empty() && device.kind != request.kind) return false;
  if (!request.devices.empty() && !has(request.devices, device.id)) return false;
  if (!request.bus_addresses.empty() && !has(request.bus_addresses, device.bus_address)) {
    return false;
  }
  return std::ranges::all_of(
      request.features, [&](const std::string& feature) { return has(device.features, feature); });
}

std::optional<Reservation> find_cores(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                      const CoreState& state, const terms::CoreRequest& request) {
  std::vector<Placement> placements;
  for (const CoreRange& range : free_ranges(map, chains, state, request)) {
    for (std::size_t offset = 0; offset < range.length; ++offset) {
      const std::size_t length = length_at(map, range, offset, request);
      if (length > 0) placements.push_back({range, offset, length});
    }
  }
  std::ranges::stable_sort(placements, {},
                           [&](const Placement& placement) { return cost_of(placement, request); });
  for (const Placement& placement : placements) {
    Reservation reservation = {.cores = cores_of(placement)};
    auto memory = memory_for(map, state, reservation.cores, request.memory_bytes);
    if (!memory) continue;
    reservation.memory = std::move(*memory);
    return reservation;
  }
  return std::nullopt;
}

std::int32_t longest_free_range(const DeviceMap& map, const std::vector<CoreChain>& chains,
                                const CoreState& state, const terms::CoreRequest& request) {
  std::size_t longest = 0;
  for (const CoreRange& range : free_ranges(map, chains, state, request)) {
    longest = std::max(longest, range.length);
  }
  return static_cast<std::int32_t>(longest);
}

}  // namespace sluice::topology
