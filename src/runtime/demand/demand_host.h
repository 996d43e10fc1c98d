// Models that are loaded at their first request.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/engine.h"
#include "runtime/table_host.h"

namespace sluice::runtime {

struct DemandModel;

/// A model host whose models sleep: the first use of one loads it to the engine, on a group of its
/// own. To keep the byte budget, and to free cores and memory, the host unloads the least recently
/// used model that is neither pinned nor in use. Safe from any thread; different models load
/// concurrently. Every Status has a RuntimeCode.
class DemandHost final : public TableHost<DemandModel> {
 public:
  /// `budget_bytes`: of all models that are awake. `engine` outlives the host.
  DemandHost(Engine& engine, std::int64_t budget_bytes)
      : TableHost(HandleKind::kOnDemand), engine_(engine), budget_bytes_(budget_bytes) {}

  Clock& clock() override { return engine_.clock(); }

  /// Reads the package, so that a damaged one is refused now; the model sleeps. `is_pinned`: once
  /// awake it is not unloaded for others. Names need not be unique.
  /// Fails: as package::read_package, join_rule and Engine::estimate; kInvalid for a request with a
  ///        group.
  Result<terms::ModelHandle> load(const LoadRequest& request, const std::stop_token& stop) override;
  // Its requests start and stop a model. These fail: kFailed.
  Status start(terms::ModelHandle handle) override;
  Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;
  /// Forgets the model at once, waits for the end of its load, and unloads it, in use or not.
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;

  // For a model that is awake. Fail: kInvalidHandle while it sleeps.
  Result<ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<terms::Health> health(terms::ModelHandle handle) const override;
  /// Wakes the model unless it is awake and serves; it stays so while the sink is held. Blocks
  /// during a load.
  /// Fails: as Engine::load; kOutOfResources if no unload can make room.
  Result<std::shared_ptr<RequestSink>> sink(terms::ModelHandle handle) const override;
  Result<terms::Signature> signature(terms::ModelHandle handle) const override;
  bool uses(const terms::ModelInfo& other) const override;

  /// The engine unloads what is awake, and loads nothing more.
  void shutdown(std::int64_t /*drain_deadline_ns*/) override {}

  /// The engine's handle of a model; a handle of another host as it is.
  /// Fails: kInvalidHandle, also for a model that sleeps.
  Result<terms::ModelHandle> awake(terms::ModelHandle handle) const;
  /// Bytes of the models that are awake.
  std::int64_t loaded_bytes() const;

 private:
  using Model = DemandModel;
  using Lock = std::unique_lock<std::mutex>;

  terms::ModelInfo describe(std::uint64_t handle, const Model& model) const override;
  Status wake(Model& model, Lock& lock) const;
  Result<terms::ModelHandle> load_making_room(const Model& model, Lock& lock) const;
  Status make_room(const Model& model, Lock& lock) const;
  /// Whether a model was unloaded, or another thread is unloading one.
  bool evict_one(Lock& lock) const;
  void put_to_sleep(Model& model, Lock& lock, std::int64_t drain_deadline_ns = 0) const;
  bool is_serving(const Model& model) const;

  Engine& engine_;
  const std::int64_t budget_bytes_;
  mutable std::mutex mutex_;  ///< guards the models' states and what follows
  // Which models are awake changes in calls that only look, such as `sink`.
  mutable std::condition_variable changed_;
  mutable std::int64_t used_bytes_ = 0;
  mutable std::uint64_t num_uses_ = 0;
  mutable int num_leaving_ = 0;  ///< running unloads
};

}  // namespace sluice::runtime
