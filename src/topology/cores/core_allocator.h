// Which core group owns which cores: a pure state machine over a device map.
#pragma once

#include <cstdint>
#include <map>
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

  /// Requires: `owner` holds nothing yet.
  /// Fails: kInvalidArgument     the request contradicts itself
  ///        kNotFound            the request names a device or core that the map lacks
  ///        kFailedPrecondition  the request needs more than the whole machine has
  ///        kResourceExhausted   too few cores are free now; the message lists missing cores, free
  ///                             cores, and groups whose release would help
  Result<Reservation> reserve(CoreGroupId owner, const CoreRequest& request);

  /// Whether the machine could satisfy the request with every core free. Fails: as reserve, except
  /// kResourceExhausted.
  Status check(const CoreRequest& request) const;

  /// Frees the cores and memory of `owner`, if any.
  void release(CoreGroupId owner);

  std::int32_t num_cores() const;
  std::int32_t num_free() const;
  /// Length of the longest free core range.
  std::int32_t longest_free_range() const;
  /// The group that owns this core; an invalid id for a free core.
  CoreGroupId owner_of(CoreRef core) const;
  /// Unreserved memory of a device; 0 if the map does not know its memory.
  std::int64_t free_memory(DeviceId device) const;

  /// The devices that could serve a request, busy or not, in the map's order.
  std::vector<DeviceId> candidates(const CoreRequest& request) const;

 private:
  Status check_names(const CoreRequest& request) const;
  Status explain_never(const CoreRequest& request) const;
  Status explain_not_now(const CoreRequest& request) const;
  std::vector<CoreGroupId> who_would_help(const CoreRequest& request) const;
  CoreState state_without(CoreGroupId owner) const;

  DeviceMap map_;
  std::vector<CoreChain> chains_;
  CoreState state_;
  std::map<CoreGroupId, Reservation> granted_;
};

}  // namespace sluice::topology
