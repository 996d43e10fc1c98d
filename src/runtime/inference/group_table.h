// The core groups of an engine, each with its scheduler.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/inference/group_scheduler.h"
#include "topology/cores/device_manager.h"

namespace sluice::runtime {

/// Safe across threads. A load calls `enter` for its group and an unload `leave`, which destroys an
/// implicit group.
class GroupTable {
 public:
  /// `drivers` outlives the table and all its groups.
  GroupTable(topology::DeviceMap map, DriverSource& drivers)
      : groups_(std::move(map)), manager_(groups_, drivers.clock()), drivers_(drivers) {}

  topology::CoreGroups& core_groups() { return groups_; }
  const topology::CoreGroups& core_groups() const { return groups_; }
  const topology::DeviceMap& map() const { return groups_.map(); }

  /// Waits in turn with other requests for the same devices.
  /// Fails: kNotEnoughCores, kInvalid; kTimeout at the deadline of `wait`; kCancelled; kFailed
  /// after `close`.
  Result<terms::CoreGroupId> create(const terms::CoreRequest& request,
                                    const topology::WaitPolicy& wait, const std::stop_token& stop);
  /// Fails: kInvalidHandle; kFailed while models are on it.
  Status destroy(terms::CoreGroupId id);

  /// Before a load on an explicit group. Fails: kInvalidHandle; kFailed for an implicit group.
  Result<std::shared_ptr<GroupScheduler>> enter(terms::CoreGroupId id);
  /// Creates an implicit group and enters it. Rotates among eligible devices.
  /// Fails: as `create`.
  Result<std::shared_ptr<GroupScheduler>> enter_new(const terms::CoreRequest& request,
                                                    const topology::WaitPolicy& wait,
                                                    const std::stop_token& stop);
  /// As `enter_new`; but if the cores are in use, enters the shared group with the fewest models
  /// that has `min_cores` cores on eligible devices. Waits only if there is none.
  Result<std::shared_ptr<GroupScheduler>> enter_shared(const terms::CoreRequest& request,
                                                       std::int32_t min_cores,
                                                       const topology::WaitPolicy& wait,
                                                       const std::stop_token& stop);
  /// Cores for the segments of another kind of devices, as CoreGroups::extend. Does not wait: two
  /// loads could wait for each other's cores. Fails: kNotEnoughCores, kInvalid, kInvalidHandle.
  Result<topology::ExtraCores> extend(terms::CoreGroupId id, const terms::CoreRequest& request);
  /// For one model that runs beside the others of the group.
  std::shared_ptr<GroupScheduler> make_beside(const GroupScheduler& group);
  void leave(terms::CoreGroupId id);
  /// Ends all waits for cores with kFailed; later requests fail, too.
  void close() { manager_.close(); }

  std::shared_ptr<GroupScheduler> find(terms::CoreGroupId id) const;
  std::vector<std::shared_ptr<GroupScheduler>> all() const;
  /// A device whose hardware has failed gets no new groups, implicit ones included, until it is
  /// well. Nothing happens if the map lacks the device.
  void set_condition(terms::DeviceId device, terms::DeviceCondition condition);
  /// The latest one; healthy and without sensors if there was none.
  terms::DeviceCondition condition_of(terms::DeviceId device) const;

  /// Statistics of all groups with cores of the device, destroyed ones included.
  ModelStatisticsSnapshot statistics_of(terms::DeviceId device) const;

 private:
  std::set<terms::DeviceId> devices_of(const topology::CoreGroup& group) const;
  void forget(std::map<terms::CoreGroupId, std::shared_ptr<GroupScheduler>>::iterator group);
  Result<std::shared_ptr<GroupScheduler>> make(const terms::CoreRequest& request,
                                               const topology::WaitPolicy& wait,
                                               terms::GroupOrigin origin, bool is_shared,
                                               const std::stop_token& stop);
  Result<std::shared_ptr<GroupScheduler>> make_implicit(const terms::CoreRequest& request,
                                                        bool is_shared,
                                                        const std::stop_token& stop);
  std::shared_ptr<GroupScheduler> join(const terms::CoreRequest& request, std::int32_t min_cores);

  topology::CoreGroups groups_;
  topology::DeviceManager manager_;
  DriverSource& drivers_;
  mutable std::mutex mutex_;
  std::map<terms::CoreGroupId, std::shared_ptr<GroupScheduler>> schedulers_;
  /// Devices that groups were extended to. They stay until the group goes, as their counters do.
  std::map<terms::CoreGroupId, std::set<terms::DeviceId>> extra_devices_;
  std::map<terms::DeviceId, ModelStatisticsSnapshot> retired_;  ///< of destroyed groups
  std::map<terms::DeviceId, terms::DeviceCondition> conditions_;
  std::size_t next_device_ = 0;
};

}  // namespace sluice::runtime
