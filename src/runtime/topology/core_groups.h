// Core groups: cores of connected devices reserved together, the unit on which models are loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/topology/core_allocator.h"
#include "runtime/topology/memory_budget.h"

namespace sluice::runtime {

/// Explicit: somebody asked for the group, loads models on it, and destroys it. Implicit: a load
/// made it for its model alone; it goes when the model goes.
enum class GroupOrigin { kExplicit, kImplicit };

/// A group as it was created; immutable but for its budget. Safe across threads. Who holds one
/// after its destruction may still read it, but its cores may be another's.
struct CoreGroup {
  CoreGroupId id = {};
  GroupOrigin origin = GroupOrigin::kExplicit;
  std::vector<CoreRef> cores = {};  ///< in the order of the run

  // What enforces the group's limits.
  std::vector<std::int32_t> cpus =
      {};                        ///< processors its threads stay on, ascending; cpu cores only
  std::int32_t num_workers = 0;  ///< threads that compute: one per core, on the host's own
  std::unique_ptr<MemoryBudget> budget = {};  ///< no limit where the map knows no memory
};

/// The groups of one runtime. Safe across threads; no call waits.
///
///                 create                    add_model        remove_model
///     (no group) --------> explicit, empty ----------> explicit, in use
///          ^                  |     ^                        |
///          +------ destroy ---+     +------- the last one ---+
///
///                 create + add_model                remove_model
///     (no group) --------------------> implicit ------------------> (no group)
///
/// A core belongs to one group at most. An explicit group with models on it is not destroyed; a
/// destroyed one returns all cores and all memory. Handles are never given twice.
class CoreGroups {
 public:
  /// `map`: the devices of this runtime, as select_devices or a whole machine gives them.
  explicit CoreGroups(DeviceMap map);

  const DeviceMap& map() const { return map_; }

  /// Takes cores past those who wait for them: whoever competes asks DeviceManager::acquire.
  /// Fails: as CoreAllocator::reserve.
  Result<std::shared_ptr<const CoreGroup>> create(const CoreRequest& request, GroupOrigin origin);

  /// Fails: kNotFound            no such group, or no longer
  ///        kFailedPrecondition  models are on it, or it is implicit and goes with its model
  Status destroy(CoreGroupId id);

  /// Fails: kNotFound, as destroy.
  Result<std::shared_ptr<const CoreGroup>> find(CoreGroupId id) const;

  /// A model is loaded on the group from now on.
  /// Fails: kNotFound, as destroy; kFailedPrecondition if another load's implicit group is named.
  Status add_model(CoreGroupId id);
  /// A model left. The one that leaves an implicit group destroys it.
  /// Fails: kNotFound, as destroy; kFailedPrecondition if no model is on it.
  Status remove_model(CoreGroupId id);

  struct Listed {
    std::shared_ptr<const CoreGroup> group = {};
    std::int32_t num_models = 0;
  };
  /// By handle.
  std::vector<Listed> list() const;
  std::int32_t num_free_cores() const;
  /// Whether the request could be met if every core were free.
  /// Fails: as CoreAllocator::check.
  Status check(const CoreRequest& request) const;
  /// The devices that could serve a request, busy or not.
  std::vector<DeviceId> candidates(const CoreRequest& request) const;

  /// Called after cores came back, by the thread that returned them and without a lock held. One
  /// listener; an empty function for none.
  void on_release(std::function<void()> listener);

 private:
  struct Entry {
    std::shared_ptr<const CoreGroup> group = {};
    std::int32_t num_models = 0;
  };

  Result<const Entry*> entry(CoreGroupId id) const;
  void erase(CoreGroupId id);
  void tell_listener();

  const DeviceMap map_;
  mutable std::mutex mutex_;
  CoreAllocator allocator_;
  std::map<CoreGroupId, Entry> entries_;
  std::int32_t next_id_ = 1;
  std::mutex listener_mutex_;  ///< held while the listener runs, so that it can be taken away
  std::function<void()> listener_;
};

}  // namespace sluice::runtime
