// The core groups of an engine, each with its scheduler.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/inference/group_scheduler.h"
#include "runtime/topology/device_manager.h"

namespace sluice::runtime {

/// Safe across threads. Every model that is loaded on a group is entered by `enter` and leaves by
/// `leave`; the one that leaves an implicit group destroys it.
class GroupTable {
 public:
  /// `drivers` outlives the table and all its groups.
  GroupTable(DeviceMap map, DriverSource& drivers)
      : groups_(std::move(map)), manager_(groups_, drivers.clock()), drivers_(drivers) {}

  CoreGroups& core_groups() { return groups_; }
  const CoreGroups& core_groups() const { return groups_; }
  const DeviceMap& map() const { return groups_.map(); }

  /// In turn with everybody else who waits for the same devices.
  /// Fails: kNotEnoughCores, kInvalid; kTimeout as `wait` says; kCancelled; kFailed after `close`.
  Result<CoreGroupId> create(const CoreRequest& request, const WaitPolicy& wait,
                             const std::stop_token& stop);
  /// Fails: kInvalidHandle; kFailed while models are on it.
  Status destroy(CoreGroupId id);

  /// A model will be loaded on an explicit group. Fails: kInvalidHandle; kFailed for an implicit
  /// one.
  Result<std::shared_ptr<GroupScheduler>> enter(CoreGroupId id);
  /// A new implicit group, entered. Where several devices could serve, they are taken in turn.
  /// Fails: as `create`.
  Result<std::shared_ptr<GroupScheduler>> enter_new(const CoreRequest& request,
                                                    const WaitPolicy& wait,
                                                    const std::stop_token& stop);
  void leave(CoreGroupId id);
  /// Everybody who waits for cores is sent home, and so is who comes later.
  void close() { manager_.close(); }

  std::shared_ptr<GroupScheduler> find(CoreGroupId id) const;
  std::vector<std::shared_ptr<GroupScheduler>> all() const;
  /// Of all groups that have, or had, cores of the device.
  ModelStatisticsSnapshot statistics_of(DeviceId device) const;

 private:
  void forget(std::map<CoreGroupId, std::shared_ptr<GroupScheduler>>::iterator group);
  Result<std::shared_ptr<GroupScheduler>> make(const CoreRequest& request, const WaitPolicy& wait,
                                               GroupOrigin origin, const std::stop_token& stop);

  CoreGroups groups_;
  DeviceManager manager_;
  DriverSource& drivers_;
  mutable std::mutex mutex_;
  std::map<CoreGroupId, std::shared_ptr<GroupScheduler>> schedulers_;
  std::map<DeviceId, ModelStatisticsSnapshot> retired_;  ///< of groups that are gone
  std::size_t next_device_ = 0;
};

}  // namespace sluice::runtime
