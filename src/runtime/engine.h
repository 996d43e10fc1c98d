// The runtime in one object: core groups, models, inference. For the daemon, and for programs that
// link the runtime.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "backend/registry.h"
#include "base/bytes.h"
#include "device/transfer/transfer.h"
#include "runtime/inference/driver.h"
#include "runtime/profile/profiler.h"
#include "runtime/table_host.h"
#include "topology/map/device_map.h"

namespace sluice::runtime {

class GroupScheduler;
class GroupTable;
class Loader;
class Model;
struct DeviceReport;
struct GroupReport;

/// A copy in the memory of a device.
struct BroughtTensor {
  std::shared_ptr<const void> copy;  ///< keeps it there
  /// Over a link from this device, or this was the device that had it. None: from the host.
  std::optional<terms::DeviceId> from;
};

struct EngineOptions {
  /// Devices of this engine. Requires: the plug-ins that drive them are in the registry.
  topology::DeviceMap devices;
  /// A device counts as lost if a stage runs this long after its request was cancelled.
  std::int64_t hang_limit_ns = 10'000'000'000;
  /// For each device with memory of its own.
  device::TransferOptions transfers = {};
};

/// Safe from any thread. Callbacks of requests may only submit and cancel. Every Status has a
/// RuntimeCode. Times are on `clock()`.
class Engine : public TableHost<Model> {
 public:
  /// `backends` and `drivers` outlive the engine.
  Engine(const backend::BackendRegistry& backends, DriverSource& drivers, EngineOptions options);
  /// Shuts down and cancels requests in flight.
  ~Engine() override;

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
  /// The longest of all models' (ModelScheduler::overdue_ns).
  std::int64_t overdue_ns() const;
  std::int32_t num_free_cores() const;

  // Cores of models that another host runs: the engine does the bookkeeping.

  /// Null for an unknown group.
  std::shared_ptr<GroupScheduler> find_group(terms::CoreGroupId id) const;
  /// Reserves the request's group, or a new group of the size that the model needs, for a model of
  /// another host until `leave`. Fails: as the group part of `load`. Blocks.
  Result<Entered> enter(const LoadRequest& request, const std::stop_token& stop);
  /// Ends the reservation; destroys an implicit group.
  void leave(terms::CoreGroupId id);

  // ---- models

  /// Fails: as Loader::load. Blocks; ends soon after `stop` is requested.
  Result<terms::ModelHandle> load(const LoadRequest& request,
                                  const std::stop_token& stop = {}) override;
  Result<terms::Footprint> estimate(const LoadRequest& request);
  /// As Loader::open.
  Result<std::shared_ptr<CachedPackage>> open(const LoadRequest& request);

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

  Result<ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  /// Fails: kInvalidHandle.
  Result<GroupReport> report(terms::CoreGroupId id) const;
  /// Reports of every device, in the order of the map.
  std::vector<DeviceReport> report_devices() const;
  /// A copy of bytes that nobody changes on a device of own memory, where later requests that take
  /// them as an input read it. `fetch`: of LeftBytes; empty: the bytes are in the host's memory.
  /// Blocks.
  /// Fails: kInvalid for no such device, or one without memory of its own; kOutOfResources;
  ///        kDeviceError.
  Result<BroughtTensor> bring(const Bytes& bytes, terms::DeviceId device,
                              const std::function<Status()>& fetch = {});
  /// The same for bytes that are on other devices alone, on the device that RequestSink::left_on
  /// names: null where no link joins it to one of them, or the copy fails.
  std::shared_ptr<const void> bring_by_link(const Bytes& bytes, const void* device);
  /// Tells of a device's hardware. As GroupTable::set_condition.
  void set_condition(terms::DeviceId device, terms::DeviceCondition condition);

  // ---- profiles

  /// Records everything, a group or a model until `stop_profile`, which returns the profile.
  /// Fails: as Profiler::start; kInvalidHandle for an unknown group or model.
  Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings);
  /// Fails: kInvalidHandle.
  Result<terms::Profile> stop_profile(std::uint64_t profile) { return profiler_.stop(profile); }

  // ---- inference

  /// Accepts requests for a model. Stays valid after the unload, and refuses requests then.
  Result<std::shared_ptr<RequestSink>> sink(terms::ModelHandle handle) const override;

  /// Refuses loads, requests and groups, and cancels requests in flight at `drain_deadline_ns`.
  /// Every request has its reply when this returns. May be called again.
  void shutdown(std::int64_t drain_deadline_ns = 0) override;

 private:
  terms::ModelInfo describe(std::uint64_t handle, const Model& model) const override;
  Status check_open() const;
  void unload(const std::shared_ptr<Model>& model, std::int64_t drain_deadline_ns);
  DeviceReport report(const terms::Device& device) const;
  bool has_failed(const GroupScheduler& group) const;
  std::int64_t hang_deadline_ns(std::int64_t drain_deadline_ns) const;

  const backend::BackendRegistry& backends_;
  Clock& clock_;
  const EngineOptions options_;
  const std::int64_t created_ns_;
  Profiler profiler_;  ///< gets spans of all models
  const std::unique_ptr<GroupTable> groups_;
  const std::unique_ptr<Loader> loader_;
  mutable std::shared_mutex open_mutex_;  ///< held shared while a load adds its model
  bool is_open_ = true;
};

}  // namespace sluice::runtime
