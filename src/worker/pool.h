// All groups of a daemon whose models run in worker processes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "runtime/engine.h"
#include "runtime/table_host.h"
#include "topology/cores/device_manager.h"
#include "worker/group.h"

namespace sluice::worker {

struct PoolOptions {
  std::filesystem::path program;  ///< `sluice-worker`
  topology::DeviceMap devices;    ///< the engine's
  std::string sim;                ///< the text that describes simulated devices; empty: real ones
  std::int64_t max_restarts = 5;  ///< of a worker within a minute
  std::int64_t user = -1;         ///< who workers become; -1: they stay who the daemon is
  std::int64_t group = -1;
  std::int64_t silence_limit_ns = 10'000'000'000;  ///< of a worker (LinkOptions)
  bool is_filtered = true;                         ///< what they may ask of the system (confine.h)
  std::function<void(const std::string&)> on_event;  ///< for the log; from any thread
};

/// `sluice-worker` beside the program that runs.
std::filesystem::path default_program();

struct PoolModel {
  std::shared_ptr<RemoteModel> model;
  std::shared_ptr<WorkerGroup> group;
  ByteCharge charge = {};  ///< for what the model was estimated to take in the worker
};

/// A second host of models beside an engine, which keeps the account of cores for both, and of what
/// the models did. Safe from any thread.
class WorkerPool final : public runtime::TableHost<PoolModel> {
 public:
  /// `engine` outlives the pool.
  WorkerPool(runtime::Engine& engine, PoolOptions options)
      : TableHost(runtime::HandleKind::kWorker), engine_(engine), options_(std::move(options)) {}
  ~WorkerPool() override { shutdown(0); }

  bool owns(terms::CoreGroupId group) const { return find(group) != nullptr; }

  /// Cores, and a worker for them; `has_spare`: and another that waits for its death. Blocks until
  /// the worker is ready.
  /// Fails: as Engine::create_group; kUnavailable where the worker does not start.
  Result<terms::CoreGroupId> create_group(const terms::CoreRequest& request,
                                          bool has_spare = false);
  /// Blocks. Fails: as Engine::destroy_group.
  Status destroy_group(terms::CoreGroupId group);
  /// The worker of a group of the pool; else the information of a group without one.
  terms::WorkerInfo worker_of(terms::CoreGroupId group) const;
  /// As WorkerGroup::revive; nothing for a group without worker.
  Status revive(terms::CoreGroupId group);
  /// Adds what the engine cannot know of the pool's groups.
  void describe(std::vector<terms::GroupInfo>& groups) const;

  /// Records what workers run from now on as a part of the engine's `profile`: of the group or
  /// model that `settings` names, or of all groups, also of those that are made later. A worker
  /// that dies takes its spans along, and the next one records nothing. Blocks.
  void start_profile(std::uint64_t profile, const terms::ProfileSettings& settings);
  /// Ends it; the spans of each worker, if `wants_spans`. Blocks.
  std::vector<terms::Profile> stop_profile(std::uint64_t profile, bool wants_spans = true);

  // ModelHost; groups of requests are the pool's.
  Clock& clock() override { return system_clock(); }
  Result<terms::ModelHandle> load(const runtime::LoadRequest& request,
                                  const std::stop_token& stop) override;
  Status start(terms::ModelHandle handle) override;
  Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;
  Status reset(terms::ModelHandle handle) override;
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;
  Result<runtime::ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<terms::Health> health(terms::ModelHandle handle) const override;
  Result<std::shared_ptr<runtime::RequestSink>> sink(terms::ModelHandle handle) const override;
  void shutdown(std::int64_t drain_deadline_ns) override;

 private:
  /// What the workers record of one profile.
  struct Profiling {
    terms::ProfileSettings settings;
    std::map<terms::CoreGroupId, WorkerGroup::Recording> recordings;
  };

  static void record(Profiling& profiling, terms::CoreGroupId id, WorkerGroup& group,
                     const RemoteModel* model = nullptr);
  void record_all(terms::CoreGroupId id, WorkerGroup& group);

  terms::ModelInfo describe(std::uint64_t handle, const PoolModel& loaded) const override;
  using TableHost::find;
  std::shared_ptr<WorkerGroup> find(terms::CoreGroupId group) const;
  Result<std::shared_ptr<WorkerGroup>> make_worker(const topology::CoreGroup& cores,
                                                   bool has_spare = false);
  void end_worker(terms::CoreGroupId group);
  Result<terms::ModelHandle> load_on(const runtime::LoadRequest& request,
                                     const std::shared_ptr<runtime::GroupScheduler>& cores,
                                     const package::Executable& executable, shm::Fd package,
                                     const std::stop_token& stop);
  void unload(const PoolModel& loaded, std::int64_t drain_deadline_ns);

  runtime::Engine& engine_;
  const PoolOptions options_;
  std::mutex profiles_mutex_;  ///< taken before mutex_, and held while workers are asked
  std::map<std::uint64_t, Profiling> profiles_;
  mutable std::mutex mutex_;
  bool is_open_ = true;
  std::map<terms::CoreGroupId, std::shared_ptr<WorkerGroup>> groups_;
};

}  // namespace sluice::worker
