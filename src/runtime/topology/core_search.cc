#include "runtime/topology/core_search.h"

#include <algorithm>
#include <tuple>

#include "runtime/topology/logical_ids.h"

namespace sluice::runtime {
namespace {

/// Free cores of a chain, `length` from `start` on; `is_closed` if they are a whole ring.
struct Run {
  const CoreChain* chain = nullptr;
  std::size_t start = 0;
  std::size_t length = 0;
  bool is_closed = false;

  std::size_t place(std::size_t offset) const { return (start + offset) % chain->cores.size(); }
};

/// `length` cores of a run, from `offset` on.
struct Placement {
  Run run;
  std::size_t offset = 0;
  std::size_t length = 0;
};

std::vector<bool> usable_cores(const DeviceMap& map, const CoreChain& chain, const CoreState& state,
                               const CoreRequest& request) {
  std::vector<bool> is_usable;
  for (const CoreRef& core : chain.cores) {
    is_usable.push_back(!state.owners.contains(core) &&
                        is_eligible(*find_device(map, core.device), request));
  }
  return is_usable;
}

void add_runs(const CoreChain& chain, const std::vector<bool>& is_usable, std::vector<Run>& runs) {
  const std::size_t size = is_usable.size();
  const auto barrier = std::ranges::find(is_usable, false);
  if (barrier == is_usable.end()) {
    runs.push_back({&chain, 0, size, chain.is_ring});
    return;
  }
  // A ring is read from behind a core that ends every run, so that none is cut in two.
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
    runs.push_back({&chain, (first + i) % size, end - i, false});
    i = end;
  }
}

std::vector<Run> free_runs(const DeviceMap& map, const std::vector<CoreChain>& chains,
                           const CoreState& state, const CoreRequest& request) {
  std::vector<Run> runs;
  for (const CoreChain& chain : chains) {
    add_runs(chain, usable_cores(map, chain, state, request), runs);
  }
  return runs;
}

/// Cores of the next `request.num_devices` whole devices from `offset` on; 0 if there are not so
/// many in the run, or not with enough cores.
std::size_t whole_devices(const DeviceMap& map, const Run& run, std::size_t offset,
                          const CoreRequest& request) {
  std::size_t length = 0;
  for (std::int32_t i = 0; i < request.num_devices; ++i) {
    if (offset + length >= run.length) return 0;
    const CoreRef& core = run.chain->cores[run.place(offset + length)];
    if (core.core != 0) return 0;
    length += static_cast<std::size_t>(find_device(map, core.device)->num_cores);
  }
  const bool fits = offset + length <= run.length;
  return fits && length >= static_cast<std::size_t>(request.num_cores) ? length : 0;
}

/// Cores from `offset` on, of the `left` that follow, that hold all parts; 0 if they do not.
std::size_t length_of_parts(const Run& run, std::size_t offset, std::size_t left,
                            const std::vector<std::int32_t>& parts) {
  const auto device = [&](std::size_t at) {
    return run.chain->cores[run.place(offset + at)].device;
  };
  std::size_t end = 0;
  for (const std::int32_t part : parts) {
    const auto size = static_cast<std::size_t>(part);
    const auto is_split = [&] {
      return end + size <= left && device(end) != device(end + size - 1);
    };
    while (is_split()) ++end;
    end += size;
    if (end > left) return 0;
  }
  return end;
}

/// How many cores a placement at `offset` has; 0 if none can start there.
std::size_t length_at(const DeviceMap& map, const Run& run, std::size_t offset,
                      const CoreRequest& request) {
  if (request.first && run.chain->cores[run.place(offset)] != *request.first) return 0;
  const std::size_t left = run.is_closed ? run.length : run.length - offset;
  const std::size_t needed = length_of_parts(run, offset, left, request.parts);
  if (needed == 0 && !request.parts.empty()) return 0;
  if (request.num_devices > 0) {
    Run from_here = run;
    from_here.start = run.place(offset);
    from_here.length = left;
    const std::size_t length = whole_devices(map, from_here, 0, request);
    return length >= needed ? length : 0;
  }
  const auto wanted = std::max(needed, static_cast<std::size_t>(request.num_cores));
  if (wanted == 0) return left;
  return wanted <= left ? wanted : 0;
}

std::int32_t devices_touched(const Placement& placement) {
  const CoreChain& chain = *placement.run.chain;
  const std::size_t first = placement.run.place(placement.offset);
  const std::size_t last = placement.run.place(placement.offset + placement.length - 1);
  const std::int32_t step = chain.device_number[last] - chain.device_number[first];
  return last >= first ? step + 1 : step + 1 + chain.device_number.back() + 1;
}

/// Into how many pieces the rest of the run falls.
int pieces_left(const Placement& placement) {
  if (placement.run.is_closed) return placement.length < placement.run.length ? 1 : 0;
  const bool has_before = placement.offset > 0;
  const bool has_after = placement.offset + placement.length < placement.run.length;
  return static_cast<int>(has_before) + static_cast<int>(has_after);
}

/// Less is better. With 0 cores asked for the longest wins, else of whole devices the fewest cores.
auto cost_of(const Placement& placement, const CoreRequest& request) {
  const auto length = static_cast<std::int64_t>(placement.length);
  const bool wants_most = request.num_cores == 0 && request.num_devices == 0;
  return std::tuple(wants_most ? -length : length, placement.run.length, pieces_left(placement),
                    devices_touched(placement));
}

std::vector<CoreRef> cores_of(const Placement& placement) {
  std::vector<CoreRef> cores;
  for (std::size_t i = 0; i < placement.length; ++i) {
    cores.push_back(placement.run.chain->cores[placement.run.place(placement.offset + i)]);
  }
  return cores;
}

/// part / whole of `bytes`, rounded down, without overflow for any memory size.
std::int64_t share_of(std::int64_t bytes, std::int64_t part, std::int64_t whole) {
  return bytes / whole * part + bytes % whole * part / whole;
}

/// Memory of each device for a run of `cores`; nullopt if one has too little left.
std::optional<std::vector<MemoryShare>> memory_for(const DeviceMap& map, const CoreState& state,
                                                   const std::vector<CoreRef>& cores,
                                                   std::int64_t wanted_bytes) {
  std::map<DeviceId, std::int64_t> num_cores;
  for (const CoreRef& core : cores) ++num_cores[core.device];
  std::vector<MemoryShare> shares;
  for (const auto& [device, count] : num_cores) {
    const auto left = state.free_bytes.find(device);
    if (left == state.free_bytes.end()) continue;
    const Device& described = *find_device(map, device);
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
  const Device* before = nullptr;
  const Device* first = nullptr;
  const auto close_ring = [&] {
    if (first == nullptr || chains.back().device_number.back() < 2) return;
    chains.back().is_ring = are_adjacent(map, *before, *first);
  };
  for (const Device& device : map.devices) {
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
  for (const Device& device : map.devices) {
    if (device.memory_bytes > 0) state.free_bytes[device.id] = device.memory_bytes;
  }
  return state;
}

bool is_eligible(const Device& device, const CoreRequest& request) {
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
                                      const CoreState& state, const CoreRequest& request) {
  std::vector<Placement> placements;
  for (const Run& run : free_runs(map, chains, state, request)) {
    for (std::size_t offset = 0; offset < run.length; ++offset) {
      const std::size_t length = length_at(map, run, offset, request);
      if (length > 0) placements.push_back({run, offset, length});
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

std::int32_t longest_free_run(const DeviceMap& map, const std::vector<CoreChain>& chains,
                              const CoreState& state, const CoreRequest& request) {
  std::size_t longest = 0;
  for (const Run& run : free_runs(map, chains, state, request)) {
    longest = std::max(longest, run.length);
  }
  return static_cast<std::int32_t>(longest);
}

}  // namespace sluice::runtime
