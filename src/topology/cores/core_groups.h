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
#include "topology/cores/core_allocator.h"
#include "topology/cores/memory_budget.h"

namespace sluice::topology {

/// A group as it was created; immutable except for its budget. Safe across threads. A holder may
/// read it after its destruction, when its cores may belong to another group.
struct CoreGroup {
  terms::CoreGroupId id = {};
  terms::GroupOrigin origin = terms::GroupOrigin::kExplicit;
  std::vector<terms::CoreRef> cores = {};  ///< in the order of the core range

  // Limits of the group.
  std::vector<std::int32_t> cpus =
      {};                        ///< processors its threads stay on, ascending; cpu cores only
  std::int32_t num_threads = 0;  ///< threads that compute: one per core, on the host's own
  std::unique_ptr<MemoryBudget> budget = {};  ///< unlimited if the map does not know the memory
};

/// Cores of a group beside those of its range. The last holder gives them back.
using ExtraCores = std::shared_ptr<const std::vector<terms::CoreRef>>;

/// The groups of one runtime. Safe across threads; no function waits.
///
///                 create                    add_model        remove_model
///     (no group) --------> explicit, empty ----------> explicit, in use
///          ^                  |     ^                        |
///          +------ destroy ---+     +------- the last one ---+
///
///                 create + add_model       share    remove_model, the last one
///     (no group) --------------------> implicit ------------------> (no group)
///
/// A core belongs to one group at most. An explicit group with models cannot be destroyed.
/// Destroying a group frees all its cores and memory. Handles are unique for the life of the
/// process.
class CoreGroups {
 public:
  /// `map`: the devices of this runtime, as select_devices or a whole machine gives them.
  explicit CoreGroups(DeviceMap map);

  const DeviceMap& map() const { return map_; }

  /// Overtakes callers that wait in DeviceManager::acquire; use that if cores are contended.
  /// Fails: as CoreAllocator::reserve.
  Result<std::shared_ptr<const CoreGroup>> create(const terms::CoreRequest& request,
                                                  terms::GroupOrigin origin);

  /// Fails: kNotFound            no such group, or no longer
  ///        kFailedPrecondition  models are on it, or it is implicit and goes with its model
  Status destroy(terms::CoreGroupId id);

  /// Fails: kNotFound, as destroy.
  Result<std::shared_ptr<const CoreGroup>> find(terms::CoreGroupId id) const;

  /// More cores for a group, such as those of another kind of devices: the ones that an earlier
  /// call for the same devices and parts got and somebody holds, else new ones. They are the
  /// group's until nobody holds them, or the group is destroyed. A holder may outlive the group,
  /// and not this object. Overtakes callers that wait, as `create` does.
  /// Fails: kNotFound, as destroy; as CoreAllocator::reserve.
  Result<ExtraCores> extend(terms::CoreGroupId id, const terms::CoreRequest& request);
  /// The cores of its range, then its extra cores.
  std::vector<terms::CoreRef> cores_of(const CoreGroup& group) const;

  /// Records that another model was loaded on an implicit group, which lasts until the last of them
  /// is unloaded. Fails: kNotFound, as destroy.
  Status share(terms::CoreGroupId id);
  /// Records that a model was loaded on the group.
  /// Fails: kNotFound, as destroy; kFailedPrecondition for the implicit group of another load.
  Status add_model(terms::CoreGroupId id);
  /// Records that a model was unloaded. An implicit group is destroyed with its last model.
  /// Fails: kNotFound, as destroy; kFailedPrecondition if no model is on it.
  Status remove_model(terms::CoreGroupId id);

  struct Listed {
    std::shared_ptr<const CoreGroup> group = {};
    std::int32_t num_models = 0;
    std::vector<terms::CoreRef> cores = {};  ///< as cores_of
  };
  /// By handle.
  std::vector<Listed> list() const;
  std::int32_t num_free_cores() const;
  /// Whether the machine could satisfy the request with every core free.
  /// Fails: as CoreAllocator::check.
  Status check(const terms::CoreRequest& request) const;
  /// The devices that could serve a request, busy or not.
  std::vector<terms::DeviceId> candidates(const terms::CoreRequest& request) const;

  /// A device with a reason gets no new group until it has none, which may end waits for cores. Its
  /// groups stay. Messages give the reason. Requires: the map has the device.
  void set_unfit(terms::DeviceId device, const std::string& reason);
  bool is_fit(terms::DeviceId device) const;

  /// Sets the one listener, which the thread that frees cores calls without holding a lock. An
  /// empty function removes it.
  void on_release(std::function<void()> listener);

 private:
  struct Extra {
    std::vector<terms::DeviceId> devices = {};  ///< of the request, as `parts`
    std::vector<std::int32_t> parts = {};
    std::vector<terms::CoreRef> cores = {};
    std::int32_t num_holders = 0;
  };
  struct Entry {
    std::shared_ptr<const CoreGroup> group = {};
    std::int32_t num_models = 0;
    std::vector<Extra> extras = {};
  };

  Result<const Entry*> entry(terms::CoreGroupId id) const;
  void erase(terms::CoreGroupId id);
  void give_back(terms::CoreGroupId id, const std::vector<terms::CoreRef>& cores);
  void tell_listener();

  const DeviceMap map_;
  mutable std::mutex mutex_;
  CoreAllocator allocator_;
  std::map<terms::CoreGroupId, Entry> entries_;
  std::int32_t next_id_ = 1;
  std::mutex listener_mutex_;  ///< held while the listener runs: removing it waits for the call
  std::function<void()> listener_;
};

}  // namespace sluice::topology
