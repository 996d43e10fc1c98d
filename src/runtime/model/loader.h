// From a package to a model on a core group.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/model/group_table.h"
#include "runtime/model/model.h"
#include "runtime/model/segment_targets.h"

namespace sluice::runtime {

enum class LoadPhase : std::uint8_t { kReading, kPlacing, kPreparing, kAllocating, kDone };
std::string_view phase_name(LoadPhase phase);

struct LoadRequest {
  std::filesystem::path path;                             ///< of a package, or
  std::shared_ptr<const package::Executable> executable;  ///< the package itself
  /// Of the file that `executable` was read from, for a host that hands it on; -1: none. Borrowed.
  int package_fd = -1;
  std::string name;  ///< empty: the file's
  /// Explicit group; without one the load makes a group for the model and starts it.
  std::optional<CoreGroupId> group;
  /// Of the implicit group: which devices may serve. Their kind and the number of cores are the
  /// model's to say.
  CoreRequest where;
  /// What to do while they are another's.
  WaitPolicy wait = WaitPolicy::fail();
  /// 0: cores + host segments + 1 in normal mode, 1 in shared mode.
  int depth = 0;
  NanPolicy nan_policy = NanPolicy::kPass;
  /// Told of each phase as it starts, on the loading thread.
  std::function<void(LoadPhase)> on_progress;
};

/// Most requests that a model may have in flight.
inline constexpr int kMostDepth = 1024;

/// Makes models. Safe across threads; loads run beside each other, but those of one package share
/// what the first has made.
class Loader {
 public:
  /// All outlive the loader.
  Loader(const backend::BackendRegistry& backends, GroupTable& groups, Profiler& profiler,
         Clock& clock)
      : backends_(backends),
        groups_(groups),
        profiler_(profiler),
        clock_(clock),
        devices_(std::make_shared<device::DeviceServiceTable>(clock)) {}

  const device::DeviceServiceTable& devices() const { return *devices_; }

  /// What a load would take; reads the package, allocates nothing.
  Result<Footprint> estimate(const LoadRequest& request);

  /// Ends soon after `stop` is requested: between two operations or constants that are prepared,
  /// between two blocks that are copied. On failure nothing stays behind.
  /// Fails: kInvalid, kUnsupportedVersion  the package
  ///        kInvalidHandle                 the group
  ///        kNotEnoughCores, kOutOfResources
  ///        kTimeout                       cores were another's until the deadline of `wait`
  ///        kCancelled
  Result<std::shared_ptr<Model>> load(const LoadRequest& request, const std::stop_token& stop);

  /// A package and the group that its model will be on.
  struct Entered {
    std::shared_ptr<GroupScheduler> group;
    std::shared_ptr<const package::Executable> executable;
  };
  /// As far as `load` goes before it prepares anything; the caller leaves the group.
  Result<Entered> enter(const LoadRequest& request, const std::stop_token& stop);

 private:
  Result<std::shared_ptr<CachedPackage>> open(const LoadRequest& request);
  Result<std::shared_ptr<GroupScheduler>> find_group(const LoadRequest& request,
                                                     const SegmentTargets& targets,
                                                     const std::stop_token& stop);
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
