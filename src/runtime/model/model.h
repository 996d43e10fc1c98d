// A loaded model: what it holds while it is loaded.
#pragma once

#include <memory>
#include <mutex>

#include "runtime/inference/group_scheduler.h"
#include "runtime/model/footprint.h"
#include "runtime/model/lifecycle.h"
#include "runtime/model/load_plan.h"
#include "runtime/packages/package_cache.h"

namespace sluice::device {
class DeviceServiceTable;
}

namespace sluice::runtime {

/// The parts of a model and its phase. Safe from any thread; calls that change the phase are
/// serialised. `unload` frees the memory.
class Model {
 public:
  struct Parts {
    std::shared_ptr<CachedPackage> package;
    std::shared_ptr<const exec::LoadedModel> placement;
    std::shared_ptr<GroupScheduler> group;
    std::shared_ptr<GroupScheduler> stepper;  ///< `group`, or the model's own (kBesideOthers)
    std::shared_ptr<ModelScheduler> scheduler;
    LoadPlan plan;
    std::vector<topology::ExtraCores> extra_cores;  ///< of segments of other kinds of devices
    std::shared_ptr<const CachedPackage::Leases> shared_memory;  ///< constants of the package
    topology::MemoryLease memory;                                ///< of its slots
    std::shared_ptr<device::DeviceServiceTable> devices;
    terms::ModelInfo info;
  };

  explicit Model(Parts parts) : parts_(std::move(parts)) {}

  const std::shared_ptr<ModelScheduler>& scheduler() const { return parts_.scheduler; }
  const std::shared_ptr<GroupScheduler>& group() const { return parts_.group; }
  bool runs_beside_others() const { return parts_.stepper != parts_.group; }
  terms::ModelPhase phase() const;
  terms::ModelInfo info() const;

  /// Fails: as next_phase; kFailed while another model of the group is active.
  Status start();
  /// Refuses new requests at once. Cancels requests in flight at `drain_deadline_ns`. A stage that
  /// still runs at `hang_deadline_ns` counts as a lost device. Fails: as next_phase; kDeviceError
  /// after a hang: the model has failed.
  Status stop(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns);
  /// Creates new slots for a failed model, which becomes stopped. Fails: as next_phase; errors of
  /// creating slots.
  Status reset();
  /// Stops a started model, then frees everything except the signature. Once; always succeeds.
  void unload(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns);

 private:
  terms::ModelPhase phase_locked() const;
  Result<terms::ModelPhase> check(ModelAction action) const;
  bool drain(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns);

  mutable std::mutex change_mutex_;  ///< held through a transition
  mutable std::mutex mutex_;         ///< guards phase_
  terms::ModelPhase phase_ = terms::ModelPhase::kLoaded;
  Parts parts_;
};

}  // namespace sluice::runtime
