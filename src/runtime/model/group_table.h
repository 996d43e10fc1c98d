// The core groups of an engine, each with its scheduler.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/inference/group_scheduler.h"
#include "runtime/topology/core_groups.h"

namespace sluice::runtime {

/// Safe across threads. Every model that is loaded on a group is entered by `enter` and leaves by
/// `leave`; the one that leaves an implicit group destroys it.
class GroupTable {
 public:
  /// `drivers` outlives the table and all its groups.
  GroupTable(DeviceMap map, DriverSource& drivers) : groups_(std::move(map)), drivers_(drivers) {}

  CoreGroups& core_groups() { return groups_; }
  const CoreGroups& core_groups() const { return groups_; }
  const DeviceMap& map() const { return groups_.map(); }

  /// Fails: kNotEnoughCores, kInvalid.
  Result<CoreGroupId> create(const CoreRequest& request);
  /// Fails: kInvalidHandle; kFailed while models are on it.
  Status destroy(CoreGroupId id);

  /// A model will be loaded on an explicit group. Fails: kInvalidHandle; kFailed for an implicit
  /// one.
  Result<std::shared_ptr<GroupScheduler>> enter(CoreGroupId id);
  /// A new implicit group, entered. Where several devices could serve, they are taken in turn.
  /// Fails: kNotEnoughCores, kInvalid.
  Result<std::shared_ptr<GroupScheduler>> enter_new(const CoreRequest& request);
  void leave(CoreGroupId id);

  std::shared_ptr<GroupScheduler> find(CoreGroupId id) const;
  std::vector<std::shared_ptr<GroupScheduler>> all() const;

 private:
  Result<std::shared_ptr<GroupScheduler>> make(const CoreRequest& request, GroupOrigin origin);

  CoreGroups groups_;
  DriverSource& drivers_;
  mutable std::mutex mutex_;
  std::map<CoreGroupId, std::shared_ptr<GroupScheduler>> schedulers_;
  std::size_t next_device_ = 0;
};

}  // namespace sluice::runtime
