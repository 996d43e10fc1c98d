// Which core group owns which cores: a pure state machine over a device map.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/cores/core_search.h"

namespace sluice::topology {

/// Allocates core ranges. A range never crosses devices that are not linked, nor devices of
/// different kinds or plug-ins. Deterministic; not thread-safe.
///
/// Best fit: the allocator takes cores from the shortest free range that is long enough, at one of
/// its ends, so that the remaining cores stay in one piece. Ties go to the placement on the fewest
/// devices, then to the lowest cores. The search is complete: it finds a range if one exists. If a
/// chain of devices closes into a ring, a range may continue from the last device on the first.
class CoreAllocator {
 public:
  explicit CoreAllocator(DeviceMap map);

  const DeviceMap& map() const { return map_; }

  /// An owner may reserve several times, cores of several kinds of devices for instance.
  /// Fails: kInvalidArgument     the request contradicts itself
  ///        kNotFound            the request names a device or core that the map lacks
  ///        kFailedPrecondition  the request needs more than the whole machine has
  ///        kResourceExhausted   too few cores are free now; the message lists missing cores, free
  ///                             cores, and groups whose release would help
  Result<Reservation> reserve(terms::CoreGroupId owner, const terms::CoreRequest& request);

  /// Whether the machine could satisfy the request with every core free. Fails: as reserve, except
  /// kResourceExhausted.
  Status check(const terms::CoreRequest& request) const;

  /// A device with a reason gets no new group until it has none; its groups stay. Messages give the
  /// reason. Requires: the map has the device.
  void set_unfit(terms::DeviceId device, std::string reason);
  bool is_fit(terms::DeviceId device) const { return !state_.unfit.contains(device); }

  /// Frees the cores and memory of `owner`, if any.
  void release(terms::CoreGroupId owner);
  /// Frees one of its reservations, which these cores name; nothing if there is none.
  void release(terms::CoreGroupId owner, const std::vector<terms::CoreRef>& cores);

  std::int32_t num_cores() const;
  /// Without those of unfit devices.
  std::int32_t num_free() const;
  /// Length of the longest free core range.
  std::int32_t longest_free_range() const;
  /// The group that owns this core; an invalid id for a free core.
  terms::CoreGroupId owner_of(terms::CoreRef core) const;
  /// Unreserved memory of a device; 0 if the map does not know its memory.
  std::int64_t free_memory(terms::DeviceId device) const;

  /// The devices that could serve a request, busy or not, in the map's order.
  std::vector<terms::DeviceId> candidates(const terms::CoreRequest& request) const;

 private:
  Status check_names(const terms::CoreRequest& request) const;
  Status explain_never(const terms::CoreRequest& request) const;
  Status explain_not_now(const terms::CoreRequest& request) const;
  std::vector<terms::CoreGroupId> who_would_help(const terms::CoreRequest& request) const;
  CoreState state_without(terms::CoreGroupId owner) const;

  DeviceMap map_;
  std::vector<CoreChain> chains_;
  CoreState state_;
  std::multimap<terms::CoreGroupId, Reservation> granted_;
};

}  // namespace sluice::topology
