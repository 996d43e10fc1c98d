// Loads a package on a core group.
#pragma once

#include <memory>
#include <stop_token>

#include "device/device_services.h"
#include "runtime/inference/group_table.h"
#include "runtime/model/load_request.h"
#include "runtime/model/model.h"
#include "runtime/model/segment_targets.h"

namespace sluice::runtime {

/// Loads models. Safe across threads. Loads run concurrently; loads of one package share its
/// constants and kernels.
class Loader {
 public:
  /// All outlive the loader.
  Loader(const backend::BackendRegistry& backends, GroupTable& groups, Profiler& profiler,
         Clock& clock, const device::TransferOptions& transfers = {})
      : backends_(backends),
        groups_(groups),
        profiler_(profiler),
        clock_(clock),
        devices_(std::make_shared<device::DeviceServiceTable>(clock, transfers)) {}

  const device::DeviceServiceTable& devices() const { return *devices_; }
  device::DeviceServiceTable& devices() { return *devices_; }

  /// The package of a load, which all loads of it share. Fails: kInvalid for no package.
  Result<std::shared_ptr<CachedPackage>> open(const LoadRequest& request);

  /// The footprint of a load; reads the package, allocates nothing.
  Result<terms::Footprint> estimate(const LoadRequest& request);

  /// Ends soon after `stop` is requested: between two operations or constants in preparation, or
  /// two blocks of a copy. A failed load releases all its resources.
  /// Fails: kInvalid, kUnsupportedVersion  the package
  ///        kInvalidHandle                 the group
  ///        kNotEnoughCores, kOutOfResources
  ///        kTimeout                       the cores were not free by the deadline of `wait`
  ///        kCancelled
  Result<std::shared_ptr<Model>> load(const LoadRequest& request, const std::stop_token& stop);

  /// The first part of `load`, without preparation. The caller calls GroupTable::leave at the end.
  Result<Entered> enter(const LoadRequest& request, const std::stop_token& stop);

 private:
  Result<std::shared_ptr<GroupScheduler>> find_group(const LoadRequest& request,
                                                     const SegmentTargets& targets,
                                                     const std::stop_token& stop);
  Status plan(const LoadRequest& request, const SegmentTargets& targets,
              const GroupScheduler& group, Model::Parts& parts);
  Result<std::shared_ptr<Model>> load_on(const LoadRequest& request, const SegmentTargets& targets,
                                         std::shared_ptr<CachedPackage> package,
                                         const std::shared_ptr<GroupScheduler>& group,
                                         const std::stop_token& stop);

  const backend::BackendRegistry& backends_;
  GroupTable& groups_;
  Profiler& profiler_;
  Clock& clock_;
  std::shared_ptr<device::DeviceServiceTable> devices_;
  PackageCache cache_;
};

}  // namespace sluice::runtime
