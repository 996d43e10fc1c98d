// The runtime in one object: core groups, models, inference. What a daemon serves, and what a
// program links that needs no daemon.
#pragma once

#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "runtime/inference/cookies.h"
#include "runtime/inference/driver.h"
#include "runtime/model/demand_loader.h"
#include "runtime/model/load_jobs.h"
#include "runtime/model/loader.h"
#include "runtime/model_host.h"
#include "runtime/statistics/health.h"

namespace sluice::runtime {

struct EngineOptions {
  /// Devices of this engine. Requires: the plug-ins that drive them are in the registry.
  DeviceMap devices;
  /// How long a stage may go on after its request was cancelled before its device counts as lost.
  std::int64_t hang_limit_ns = 10'000'000'000;
  /// Most bytes that models which are loaded on demand may take together.
  std::int64_t demand_budget_bytes = std::numeric_limits<std::int64_t>::max();
};

/// What a profile is wanted of; neither a group nor a model: of everything.
struct ProfileWish {
  std::optional<CoreGroupId> group;
  std::optional<ModelHandle> model;
  std::int64_t limit_ns = ProfileOptions().limit_ns;    ///< recording ends by itself
  std::int64_t max_spans = ProfileOptions().max_spans;  ///< then new ones replace old ones
};

struct GroupInfo {
  CoreGroupId id = {};
  GroupOrigin origin = GroupOrigin::kExplicit;
  std::vector<CoreRef> cores;
  std::int32_t num_models = 0;
  std::string active_model;  ///< empty if none is started
  std::int64_t num_switches = 0;
  std::int64_t memory_used_bytes = 0;
  std::int64_t memory_limit_bytes = MemoryBudget::kUnlimited;
  WorkerInfo worker;  ///< of a group whose models run in a process of their own
};

/// Safe from any thread; callbacks of requests may submit and cancel, nothing else. Every Status
/// carries a RuntimeCode. Times are on `clock()`.
class Engine final : public ModelHost {
 public:
  /// `backends` and `drivers` outlive the engine.
  Engine(const backend::BackendRegistry& backends, DriverSource& drivers, EngineOptions options);
  /// Shuts down, cancelling what is in flight.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Clock& clock() override { return clock_; }

  // ---- core groups

  /// Who asked first for the same devices is served first, loads included.
  /// Fails: kNotEnoughCores, kInvalid; kTimeout as `wait` says; kCancelled.
  Result<CoreGroupId> create_group(const CoreRequest& request,
                                   const WaitPolicy& wait = WaitPolicy::fail(),
                                   const std::stop_token& stop = {});
  /// Fails: kInvalidHandle; kFailed while models are on it.
  Status destroy_group(CoreGroupId id);
  std::vector<GroupInfo> list_groups() const;
  std::int32_t num_free_cores() { return groups_.core_groups().num_free_cores(); }

  // Places for models that another host runs: the engine keeps the account of cores.

  /// Null if there is no such group.
  std::shared_ptr<GroupScheduler> find_group(CoreGroupId id) const { return groups_.find(id); }
  /// A model of another host will be on the request's group, or on a new one that is as large as
  /// the model wants, until it leaves. Fails: as `load`, as far as that comes to the group. Blocks.
  Result<Loader::Entered> enter(const LoadRequest& request, const std::stop_token& stop);
  /// The model left; the implicit group goes with it.
  void leave(CoreGroupId id) { groups_.leave(id); }

  // ---- models

  /// Fails: as Loader::load. Blocks; ends soon after `stop` is requested.
  Result<ModelHandle> load(const LoadRequest& request, const std::stop_token& stop = {}) override;
  /// The same on a thread of its own; loads run beside each other.
  std::shared_ptr<LoadJob> load_later(LoadRequest request);
  Result<Footprint> estimate(const LoadRequest& request) { return loader_.estimate(request); }

  // Loaded on demand: known by name, loaded by the first use, on a group of its own; unloaded when
  // others need the room, the least recently used first (DemandLoader).

  /// Loads nothing. A pinned model is not unloaded to make room.
  /// Fails: kInvalid for a name that is taken, or a request that names a group.
  Status add_on_demand(const std::string& name, LoadRequest request, bool is_pinned = false);
  Status pin(const std::string& name, bool is_pinned) { return on_demand_.pin(name, is_pinned); }
  /// Keeps the model loaded while the use lives; the engine outlives it. Blocks while it loads.
  /// Fails: as DemandLoader::use and `load`.
  Result<DemandLoader::Use> use(const std::string& name) { return on_demand_.use(name); }
  bool is_loaded(const std::string& name) const { return on_demand_.is_loaded(name); }

  Status start(ModelHandle handle) override;
  /// Requests in flight go on until `drain_deadline_ns`, then they are cancelled.
  Status stop(ModelHandle handle, std::int64_t drain_deadline_ns = 0) override;
  Status reset(ModelHandle handle) override;
  /// As stop, then frees the model's memory and its implicit group. The handle is stale at once.
  Status unload(ModelHandle handle, std::int64_t drain_deadline_ns = 0) override;

  Result<ModelInfo> info(ModelHandle handle) const override;
  std::vector<ModelInfo> list_models() const override;
  Result<ModelStatisticsSnapshot> statistics(ModelHandle handle) const override;
  Result<Health> health(ModelHandle handle) const override;
  /// Fails: kInvalidHandle.
  Result<GroupReport> report(CoreGroupId id) const;
  /// Of every device of the engine, in the map's order.
  std::vector<DeviceReport> report_devices() const;

  // ---- profiles

  /// Of everything, of a group, or of a model; `stop_profile` gives it.
  /// Fails: as Profiler::start; kInvalidHandle for a group or model that is not there.
  Result<std::uint64_t> start_profile(const ProfileWish& wish);
  /// Fails: kInvalidHandle.
  Result<Profile> stop_profile(std::uint64_t profile) { return profiler_.stop(profile); }

  // ---- inference

  /// Where requests for a model go. Keeps working, by refusing, after the model is unloaded.
  Result<std::shared_ptr<RequestSink>> sink(ModelHandle handle) const override;
  /// Blocks until the answer.
  Reply infer(ModelHandle handle, Request request);
  /// Of a model on demand, loading it if need be.
  Reply infer(const std::string& name, Request request);
  Result<Cookie> post(ModelHandle handle, Request& request);
  Reply poll(Cookie cookie) { return cookies_.poll(cookie); }
  Reply wait(Cookie cookie, std::int64_t deadline_ns) { return cookies_.wait(cookie, deadline_ns); }
  std::vector<Cookie> completed(std::span<const Cookie> cookies) const {
    return cookies_.completed(cookies);
  }
  Status cancel(Cookie cookie) { return cookies_.cancel(cookie); }

  /// No more loads, requests or groups; requests in flight go on until `drain_deadline_ns`, then
  /// they are cancelled; every caller has an answer when this returns. May be called again.
  void shutdown(std::int64_t drain_deadline_ns = 0) override;

 private:
  Result<std::shared_ptr<Model>> find(ModelHandle handle) const;
  Status check_open() const;
  void unload(const std::shared_ptr<Model>& model, std::int64_t drain_deadline_ns);
  DeviceReport report(const Device& device) const;
  DemandLoader::Actions demand_actions();
  Result<LoadRequest> request_on_demand(const std::string& name) const;
  std::int64_t hang_deadline_ns(std::int64_t drain_deadline_ns) const;

  Clock& clock_;
  const EngineOptions options_;
  const std::int64_t created_ns_;
  Profiler profiler_;  ///< models tell it what they do
  GroupTable groups_;
  Loader loader_;
  DemandLoader on_demand_;
  mutable std::mutex requests_mutex_;
  std::map<std::string, LoadRequest> requests_on_demand_;  ///< by name; never erased
  HandleTable<Model> models_;
  CookieTable cookies_;
  mutable std::shared_mutex open_mutex_;  ///< shared while a model is entered
  bool is_open_ = true;
  LoadJobs jobs_;  ///< last: its threads use all of the above
};

}  // namespace sluice::runtime
