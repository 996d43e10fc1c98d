// A loaded model: what it holds while it is loaded.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/inference/group_scheduler.h"
#include "runtime/model/footprint.h"
#include "runtime/model/lifecycle.h"
#include "runtime/model/load_plan.h"
#include "runtime/model/package_cache.h"

namespace sluice::runtime {

/// What there is to know of a model that is loaded.
struct ModelInfo {
  std::uint64_t handle = 0;
  std::string name;
  ModelPhase phase = ModelPhase::kLoaded;
  CoreGroupId group = {};
  bool is_implicit = false;  ///< the group was made for it and goes with it
  LoadMode mode = LoadMode::kNormal;
  int depth = 1;
  std::size_t num_slots = 1;
  bool shares_package = false;        ///< it was loaded while another model of its package was
  Footprint footprint;                ///< as estimated
  std::int64_t slots_bytes = 0;       ///< as measured: contexts and device buffers
  std::vector<bool> in_place_inputs;  ///< find_in_place_inputs
};

/// The parts of a model and the transitions between its phases. All calls from any thread; those
/// that change the phase wait for each other. Drops its memory in `unload`.
class Model {
 public:
  struct Parts {
    std::shared_ptr<CachedPackage> package;
    std::shared_ptr<const exec::LoadedModel> placement;
    std::shared_ptr<GroupScheduler> group;
    std::shared_ptr<ModelScheduler> scheduler;
    LoadPlan plan;
    std::vector<MemoryLease> memory;  ///< by category
    std::shared_ptr<device::DeviceServiceTable> devices;
    ModelInfo info;
  };

  explicit Model(Parts parts) : parts_(std::move(parts)) {}

  const std::shared_ptr<ModelScheduler>& scheduler() const { return parts_.scheduler; }
  const std::shared_ptr<GroupScheduler>& group() const { return parts_.group; }
  ModelPhase phase() const;
  ModelInfo info() const;

  /// Fails: as next_phase; kFailed if another model of the group is active.
  Status start();
  /// New requests are refused at once. Those in flight go on until `drain_deadline_ns`; then they
  /// are cancelled. A stage that does not end by `hang_deadline_ns` counts as a lost device.
  /// Fails: as next_phase; kDeviceError after a hang: the model has failed.
  Status stop(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns);
  /// A failed model gets new slots and is stopped. Fails: as next_phase; what making slots reports.
  Status reset();
  /// Stops if need be, then frees everything but the signature. Always succeeds, once.
  void unload(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns);

 private:
  ModelPhase phase_locked() const;
  Result<ModelPhase> check(ModelAction action) const;
  bool drain(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns);

  mutable std::mutex change_mutex_;  ///< held through a transition
  mutable std::mutex mutex_;         ///< guards phase_
  ModelPhase phase_ = ModelPhase::kLoaded;
  Parts parts_;
};

}  // namespace sluice::runtime
