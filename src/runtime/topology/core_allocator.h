// Who has which cores: a pure state machine over a device map.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "runtime/topology/core_search.h"

namespace sluice::runtime {

/// Gives out contiguous runs of cores: never across devices that are not linked, nor across devices
/// of different kinds or plug-ins. Deterministic; not thread-safe.
///
/// The run that fits best is taken: of all free runs that are long enough the shortest, at one of
/// its ends, so that what is left stays in one piece, there touching the fewest devices; then the
/// lowest. A run that exists is always found. Where a chain of devices closes into a ring, a run
/// may pass from the last device to the first.
class CoreAllocator {
 public:
  explicit CoreAllocator(DeviceMap map);

  const DeviceMap& map() const { return map_; }

  /// Requires: `owner` holds nothing yet.
  /// Fails: kInvalidArgument     the request contradicts itself
  ///        kNotFound            it names a device or core that is not on the map
  ///        kFailedPrecondition  it could not be met even if every core were free
  ///        kResourceExhausted   it could be met, not now: the message says what is missing, what
  ///        is
  ///                             free, and whose release would help
  Result<Reservation> reserve(CoreGroupId owner, const CoreRequest& request);

  /// Whether the request could be met if every core were free. Fails: as reserve, but for
  /// kResourceExhausted.
  Status check(const CoreRequest& request) const;

  /// Cores and memory of `owner` are free again; nothing happens if it has none.
  void release(CoreGroupId owner);

  std::int32_t num_cores() const;
  std::int32_t num_free() const;
  /// Length of the longest contiguous run that is free.
  std::int32_t largest_free_run() const;
  /// The group that has this core; an invalid id if none has.
  CoreGroupId owner_of(CoreRef core) const;
  /// Memory of a device that no group has; 0 if it is not known.
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

}  // namespace sluice::runtime
