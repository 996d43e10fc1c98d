#include "topology/cores/core_allocator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text/plural.h"

namespace sluice::topology {
namespace {

/// Also used on copies of the state, to see what a release would change.
void give_back(CoreState& state, const Reservation& reservation) {
  for (const terms::CoreRef& core : reservation.cores) state.owners.erase(core);
  for (const MemoryShare& share : reservation.memory) {
    state.free_bytes[share.device] += share.bytes;
  }
}

Status check_device(const DeviceMap& map, terms::DeviceId id) {
  if (find_device(map, id) != nullptr) return ok_status();
  std::vector<std::int32_t> known;
  for (const terms::Device& device : map.devices) known.push_back(device.id.value());
  return make_error(Code::kNotFound, "no device {}; there are: {}", id.value(),
                    fmt::join(known, ", "));
}

Status check_address(const DeviceMap& map, const std::string& address) {
  if (find_device_at(map, address) != nullptr) return ok_status();
  std::vector<std::string> known;
  for (const terms::Device& device : map.devices) {
    if (!device.bus_address.empty()) known.push_back(device.bus_address);
  }
  return make_error(Code::kNotFound, "no device at bus address \"{}\"; there are: {}", address,
                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

Status check_first(const DeviceMap& map, terms::CoreRef first) {
  SLUICE_TRY(check_device(map, first.device));
  const terms::Device& device = *find_device(map, first.device);
  if (first.core >= 0 && first.core < device.num_cores) return ok_status();
  return make_error(Code::kNotFound, "{} has no core {}; it has {}", describe(device), first.core,
                    device.num_cores);
}

Status check_numbers(const terms::CoreRequest& request) {
  if (request.num_cores < 0 || request.num_devices < 0 || request.memory_bytes < 0) {
    return invalid_argument("{} cores, {} devices, {} bytes: none may be below 0",
                            request.num_cores, request.num_devices, request.memory_bytes);
  }
  if (std::ranges::any_of(request.parts, [](std::int32_t part) { return part < 1; })) {
    return invalid_argument("a part of the core range has at least 1 core");
  }
  if (request.first && request.num_devices > 0) {
    return invalid_argument("a first core and whole devices: ask for one of the two");
  }
  return ok_status();
}

/// The request with bus addresses in the form of the map.
terms::CoreRequest with_full_addresses(const DeviceMap& map, terms::CoreRequest request) {
  for (std::string& address : request.bus_addresses) {
    // Users may leave out the domain ("1c:00.0"); later comparisons are of whole strings.
    if (const terms::Device* device = find_device_at(map, address)) address = device->bus_address;
  }
  return request;
}

std::string what_there_is(const DeviceMap& map) {
  std::set<std::string> kinds;
  std::set<std::string> features;
  for (const terms::Device& device : map.devices) {
    // Devices that can be seen but not used would make a wrong promise here.
    if (device.num_cores == 0) continue;
    kinds.insert(device.kind);
    features.insert(device.features.begin(), device.features.end());
  }
  if (kinds.empty()) return "no device has cores";
  return fmt::format("kinds: {}; features: {}", fmt::join(kinds, ", "),
                     features.empty() ? "none" : fmt::format("{}", fmt::join(features, ", ")));
}

}  // namespace

std::string describe(const terms::CoreRequest& request) {
  // The parts stand in the order in which a person would ask: how much, of what, where.
  std::string text = request.num_cores == 0 ? (request.num_devices > 0 ? "" : "any core range")
                                            : counted(request.num_cores, "core");
  if (request.num_devices > 0) {
    text = counted(request.num_devices, "whole device") + (text.empty() ? "" : " with " + text);
  }
  if (request.parts.size() > 1) {
    text += fmt::format(" ({}, each part on one device)", fmt::join(request.parts, " + "));
  }
  if (!request.kind.empty()) text += fmt::format(" of kind \"{}\"", request.kind);
  if (!request.features.empty()) {
    text += fmt::format(" with \"{}\"", fmt::join(request.features, "\", \""));
  }
  if (request.memory_bytes > 0) text += fmt::format(" and {} bytes", request.memory_bytes);
  std::vector<std::int32_t> ids;
  for (const terms::DeviceId id : request.devices) ids.push_back(id.value());
  if (!ids.empty()) text += fmt::format(" on device {}", fmt::join(ids, ", "));
  if (!request.bus_addresses.empty()) {
    text += fmt::format(" at {}", fmt::join(request.bus_addresses, ", "));
  }
  if (request.first) {
    text += fmt::format(" from core {} of device {} on", request.first->core,
                        request.first->device.value());
  }
  return text;
}

CoreAllocator::CoreAllocator(DeviceMap map)
    : map_(std::move(map)), chains_(core_chains(map_)), state_(empty_state(map_)) {}

Result<Reservation> CoreAllocator::reserve(terms::CoreGroupId owner,
                                           const terms::CoreRequest& request) {
  SLUICE_TRY(check(request));
  const terms::CoreRequest wanted = with_full_addresses(map_, request);
  // Nothing changes unless the whole request fits: cores and memory are taken together.
  auto found = find_cores(map_, chains_, state_, wanted);
  if (!found) return explain_not_now(wanted);
  for (const terms::CoreRef& core : found->cores) state_.owners[core] = owner;
  for (const MemoryShare& share : found->memory) state_.free_bytes[share.device] -= share.bytes;
  granted_.emplace(owner, *found);
  return *std::move(found);
}

void CoreAllocator::release(terms::CoreGroupId owner) {
  const auto [begin, end] = granted_.equal_range(owner);
  // A release that comes twice gives back nothing.
  for (auto it = begin; it != end; ++it) give_back(state_, it->second);
  granted_.erase(begin, end);
}

void CoreAllocator::release(terms::CoreGroupId owner, const std::vector<terms::CoreRef>& cores) {
  const auto [begin, end] = granted_.equal_range(owner);
  const auto found =
      std::find_if(begin, end, [&](const auto& granted) { return granted.second.cores == cores; });
  if (found == end) return;
  give_back(state_, found->second);
  granted_.erase(found);
}

std::int32_t CoreAllocator::num_cores() const {
  std::size_t count = 0;
  for (const CoreChain& chain : chains_) count += chain.cores.size();
  return static_cast<std::int32_t>(count);
}

std::int32_t CoreAllocator::num_free() const {
  std::ptrdiff_t count = 0;
  for (const CoreChain& chain : chains_) {
    count += std::ranges::count_if(chain.cores, [&](const terms::CoreRef& core) {
      return is_fit(core.device) && !state_.owners.contains(core);
    });
  }
  return static_cast<std::int32_t>(count);
}

void CoreAllocator::set_unfit(terms::DeviceId device, std::string reason) {
  state_.unfit.erase(device);
  if (!reason.empty()) state_.unfit[device] = std::move(reason);
}

std::int32_t CoreAllocator::longest_free_range() const {
  return topology::longest_free_range(map_, chains_, state_, {});
}

terms::CoreGroupId CoreAllocator::owner_of(terms::CoreRef core) const {
  const auto it = state_.owners.find(core);
  return it == state_.owners.end() ? terms::CoreGroupId() : it->second;
}

std::int64_t CoreAllocator::free_memory(terms::DeviceId device) const {
  const auto it = state_.free_bytes.find(device);
  return it == state_.free_bytes.end() ? 0 : it->second;
}

std::vector<terms::DeviceId> CoreAllocator::candidates(const terms::CoreRequest& request) const {
  const terms::CoreRequest wanted = with_full_addresses(map_, request);
  std::vector<terms::DeviceId> found;
  for (const terms::Device& device : map_.devices) {
    // Eligible is not free: the caller wants to know where the request could ever run.
    const bool is_first = !wanted.first || wanted.first->device == device.id;
    if (is_first && is_eligible(device, wanted)) found.push_back(device.id);
  }
  return found;
}

Status CoreAllocator::check(const terms::CoreRequest& request) const {
  SLUICE_TRY(check_names(request));
  const terms::CoreRequest wanted = with_full_addresses(map_, request);
  // Searched on an empty machine: "never" and "not now" are different errors, and only "not now" is
  // worth waiting for.
  const bool is_possible = find_cores(map_, chains_, empty_state(map_), wanted).has_value();
  return is_possible ? ok_status() : explain_never(wanted);
}

Status CoreAllocator::check_names(const terms::CoreRequest& request) const {
  SLUICE_TRY(check_numbers(request));
  for (const terms::DeviceId id : request.devices) SLUICE_TRY(check_device(map_, id));
  for (const std::string& address : request.bus_addresses) {
    SLUICE_TRY(check_address(map_, address));
  }
  if (request.first) SLUICE_TRY(check_first(map_, *request.first));
  return ok_status();
}

Status CoreAllocator::explain_never(const terms::CoreRequest& request) const {
  const bool has_device = std::ranges::any_of(
      map_.devices, [&](const terms::Device& device) { return is_eligible(device, request); });
  if (!has_device) {
    return make_error(Code::kFailedPrecondition, "{}: no device of this machine is such; {}",
                      describe(request), what_there_is(map_));
  }
  // The message names the first condition whose removal would make the request possible.
  terms::CoreRequest without_memory = request;
  without_memory.memory_bytes = 0;
  const CoreState empty = empty_state(map_);
  if (request.memory_bytes > 0 && find_cores(map_, chains_, empty, without_memory)) {
    return make_error(Code::kFailedPrecondition, "{}: the devices have less memory than that",
                      describe(request));
  }
  terms::CoreRequest whole = request;
  whole.parts.clear();
  if (!request.parts.empty() && find_cores(map_, chains_, empty, whole)) {
    return make_error(Code::kFailedPrecondition,
                      "{}: a part is larger than any device, or the parts fit no core range; "
                      "compile the model for fewer cores per segment",
                      describe(request));
  }
  return make_error(Code::kFailedPrecondition,
                    "{}: more than this machine has; its longest core range is {}, because a "
                    "range continues only on a linked device",
                    describe(request), topology::longest_free_range(map_, chains_, empty, request));
}

Status CoreAllocator::explain_not_now(const terms::CoreRequest& request) const {
  const std::int32_t longest = topology::longest_free_range(map_, chains_, state_, request);
  std::string text =
      fmt::format("{}: not free now; {} free, the longest free range of eligible cores is {}",
                  describe(request), counted(num_free(), "core"), longest);
  terms::CoreRequest without_memory = request;
  without_memory.memory_bytes = 0;
  if (request.memory_bytes > 0 && find_cores(map_, chains_, state_, without_memory)) {
    text += "; the cores are free, the memory is not";
  }
  bool is_sick = false;
  for (const auto& [id, reason] : state_.unfit) {
    const terms::Device& device = *find_device(map_, id);
    if (!is_eligible(device, request)) continue;
    is_sick = true;
    text += fmt::format("; {} gets no new group: {}", topology::describe(device), reason);
  }
  std::vector<std::int32_t> helpers;
  for (const terms::CoreGroupId id : who_would_help(request)) helpers.push_back(id.value());
  if (helpers.empty() && is_sick) return Status(Code::kResourceExhausted, std::move(text));
  text += helpers.empty() ? "; several core groups would have to be destroyed"
                          : fmt::format("; enough would be free without core group {}",
                                        fmt::join(helpers, " or "));
  return Status(Code::kResourceExhausted, std::move(text));
}

std::vector<terms::CoreGroupId> CoreAllocator::who_would_help(
    const terms::CoreRequest& request) const {
  std::vector<terms::CoreGroupId> helpers;
  for (auto it = granted_.begin(); it != granted_.end(); it = granted_.upper_bound(it->first)) {
    // One search for each group: this runs only when an error message is written.
    if (find_cores(map_, chains_, state_without(it->first), request)) helpers.push_back(it->first);
  }
  return helpers;
}

CoreState CoreAllocator::state_without(terms::CoreGroupId owner) const {
  CoreState state = state_;
  const auto [begin, end] = granted_.equal_range(owner);
  for (auto it = begin; it != end; ++it) give_back(state, it->second);
  return state;
}

}  // namespace sluice::topology
