// The runtime in one object: core groups, models, inference. For the daemon, and for programs that
// link the runtime.
#pragma once

#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "runtime/cookies.h"
#include "runtime/inference/driver.h"
#include "runtime/model/demand_loader.h"
#include "runtime/model/loader.h"
#include "runtime/model_host.h"
#include "runtime/statistics/health.h"

namespace sluice::runtime {

struct EngineOptions {
  /// Devices of this engine. Requires: the plug-ins that drive them are in the registry.
  topology::DeviceMap devices;
  /// A device counts as lost if a stage runs this long after its request was cancelled.
  std::int64_t hang_limit_ns = 10'000'000'000;
  /// Limit of the total bytes of models loaded on demand.
  std::int64_t demand_budget_bytes = std::numeric_limits<std::int64_t>::max();
  /// Of each device with memory of its own.
  device::TransferOptions transfers = {};
};

/// Safe from any thread. Callbacks of requests may only submit and cancel. Every Status has a
/// RuntimeCode. Times are on `clock()`.
class Engine final : public ModelHost {
 public:
  /// `backends` and `drivers` outlive the engine.
  Engine(const backend::BackendRegistry& backends, DriverSource& drivers, EngineOptions options);
  /// Shuts down and cancels requests in flight.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Clock& clock() override { return clock_; }

  // ---- core groups

  /// Requests for the same devices are served in order, loads included.
  /// Fails: kNotEnoughCores, kInvalid; kTimeout at the deadline of `wait`; kCancelled.
  Result<terms::CoreGroupId> create_group(
      const terms::CoreRequest& request,
      const topology::WaitPolicy& wait = topology::WaitPolicy::fail(),
      const std::stop_token& stop = {});
  /// Fails: kInvalidHandle; kFailed while models are on it.
  Status destroy_group(terms::CoreGroupId id);
  std::vector<terms::GroupInfo> list_groups() const;
  std::int32_t num_free_cores() { return groups_.core_groups().num_free_cores(); }

  // Cores of models that another host runs: the engine does the bookkeeping.

  /// Null for an unknown group.
  std::shared_ptr<GroupScheduler> find_group(terms::CoreGroupId id) const {
    return groups_.find(id);
  }
  /// Reserves the request's group, or a new group of the size that the model needs, for a model of
  /// another host until `leave`. Fails: as the group part of `load`. Blocks.
  Result<Loader::Entered> enter(const LoadRequest& request, const std::stop_token& stop);
  /// Ends the reservation; destroys an implicit group.
  void leave(terms::CoreGroupId id) { groups_.leave(id); }

  // ---- models

  /// Fails: as Loader::load. Blocks; ends soon after `stop` is requested.
  Result<terms::ModelHandle> load(const LoadRequest& request,
                                  const std::stop_token& stop = {}) override;
  Result<terms::Footprint> estimate(const LoadRequest& request) {
    return loader_.estimate(request);
  }
  /// As Loader::open.
  Result<std::shared_ptr<CachedPackage>> open(const LoadRequest& request) {
    return loader_.open(request);
  }

  // Models on demand have a name and are loaded at their first use, each on its own group. The
  // least recently used one is unloaded to make room (DemandLoader).

  /// Registers without a load. A pinned model is not unloaded to make room.
  /// Fails: kInvalid for a name in use, or a request with a group.
  Status add_on_demand(const std::string& name, LoadRequest request, bool is_pinned = false);
  /// Forgets the name at once, and unloads the model; requests in flight have time to
  /// `drain_deadline_ns`. Fails: kInvalid for an unknown name.
  Status remove_on_demand(const std::string& name, std::int64_t drain_deadline_ns = 0);
  Status pin(const std::string& name, bool is_pinned) { return on_demand_.pin(name, is_pinned); }
  /// Keeps the model loaded for the life of the use, which the engine outlives. Blocks during a
  /// load. Fails: as DemandLoader::use and `load`.
  Result<DemandLoader::Use> use(const std::string& name) { return on_demand_.use(name); }
  bool is_loaded(const std::string& name) const { return on_demand_.is_loaded(name); }
  /// The handle of a model on demand while it is loaded.
  std::optional<terms::ModelHandle> find_loaded(const std::string& name) const {
    const auto handle = on_demand_.find_loaded(name);
    return handle ? std::optional(terms::ModelHandle{*handle}) : std::nullopt;
  }

  Status start(terms::ModelHandle handle) override;
  /// Cancels requests in flight at `drain_deadline_ns`.
  Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns = 0) override;
  Status reset(terms::ModelHandle handle) override;
  /// Brings a lost device back; requests in flight on it end. Its models stay failed until they are
  /// reset. Fails: kInvalid for no such device, or one whose plug-in cannot; what the plug-in
  /// answers.
  Status reset_device(terms::DeviceId device);
  /// Stops, then frees the model's memory and its implicit group. The handle is stale at once.
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns = 0) override;

  Result<terms::ModelInfo> info(terms::ModelHandle handle) const override;
  std::vector<terms::ModelInfo> list_models() const override;
  Result<ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<terms::Health> health(terms::ModelHandle handle) const override;
  /// Fails: kInvalidHandle.
  Result<GroupReport> report(terms::CoreGroupId id) const;
  /// Of every device, in the order of the map.
  std::vector<DeviceReport> report_devices() const;

  // ---- profiles

  /// Records everything, a group or a model until `stop_profile`, which returns the profile.
  /// Fails: as Profiler::start; kInvalidHandle for an unknown group or model.
  Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings);
  /// Fails: kInvalidHandle.
  Result<terms::Profile> stop_profile(std::uint64_t profile) { return profiler_.stop(profile); }

  // ---- inference

  /// Accepts requests for a model. Stays valid after the unload, and refuses requests then.
  Result<std::shared_ptr<RequestSink>> sink(terms::ModelHandle handle) const override;
  /// Blocks until the reply.
  Reply infer(terms::ModelHandle handle, Request request);
  Result<Cookie> post(terms::ModelHandle handle, Request& request);
  Reply poll(Cookie cookie) { return cookies_.poll(cookie); }
  Reply wait(Cookie cookie, std::int64_t deadline_ns) { return cookies_.wait(cookie, deadline_ns); }
  std::vector<Cookie> completed(std::span<const Cookie> cookies) const {
    return cookies_.completed(cookies);
  }
  Status cancel(Cookie cookie) { return cookies_.cancel(cookie); }

  /// Refuses loads, requests and groups, and cancels requests in flight at `drain_deadline_ns`.
  /// Every request has its reply when this returns. May be called again.
  void shutdown(std::int64_t drain_deadline_ns = 0) override;

 private:
  Result<std::shared_ptr<Model>> find(terms::ModelHandle handle) const;
  Status check_open() const;
  void unload(const std::shared_ptr<Model>& model, std::int64_t drain_deadline_ns);
  DeviceReport report(const terms::Device& device) const;
  DemandLoader::Actions demand_actions();
  Result<LoadRequest> request_on_demand(const std::string& name) const;
  std::int64_t hang_deadline_ns(std::int64_t drain_deadline_ns) const;

  const backend::BackendRegistry& backends_;
  Clock& clock_;
  const EngineOptions options_;
  const std::int64_t created_ns_;
  Profiler profiler_;  ///< gets spans of all models
  GroupTable groups_;
  Loader loader_;
  DemandLoader on_demand_;
  mutable std::mutex requests_mutex_;
  std::map<std::string, LoadRequest> requests_on_demand_;  ///< by name
  HandleTable<Model> models_;
  CookieTable cookies_;
  mutable std::shared_mutex open_mutex_;  ///< held shared while a load adds its model
  bool is_open_ = true;
};

}  // namespace sluice::runtime
