// Loads a package on a core group.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/inference/group_table.h"
#include "runtime/model/model.h"
#include "runtime/model/segment_targets.h"
#include "runtime/sharing/turns.h"

namespace sluice::runtime {

enum class LoadPhase : std::uint8_t { kReading, kPlacing, kPreparing, kAllocating, kDone };
std::string_view phase_name(LoadPhase phase);

struct LoadRequest {
  std::filesystem::path path;                             ///< of a package; or
  std::shared_ptr<const package::Executable> executable;  ///< the executable itself; or
  std::shared_ptr<CachedPackage> package;                 ///< one that the caller keeps
  /// The file of `executable`, which a host passes to its worker; -1: none. Borrowed.
  int package_fd = -1;
  std::string name;  ///< empty: the name of the file
  /// Explicit group. None: the load creates an implicit group and starts the model.
  std::optional<topology::CoreGroupId> group;
  /// Eligible devices of the implicit group. The model determines their kind and the number of
  /// cores.
  topology::CoreRequest where;
  /// Without a group: if all eligible cores belong to other groups, the model joins a group that
  /// such a load made, and takes turns with its models. Without eligible groups `wait` decides.
  bool may_share = false;
  /// Share of the cores among models that take turns: 1 to kMaxWeight.
  int weight = 1;
  /// If the cores belong to other groups.
  topology::WaitPolicy wait = topology::WaitPolicy::fail();
  /// Contexts. 0: cores + host segments + 1 in normal mode, 1 in shared mode.
  int depth = 0;
  /// Requests that may wait beyond `depth`; 0 refuses them. None: kWaitingPerSlot x depth.
  std::optional<int> max_waiting;
  NanPolicy nan_policy = NanPolicy::kPass;
  /// None: every request runs alone.
  std::optional<BatchOptions> batching;
  /// As exec::LoadOptions; none: the default.
  std::optional<std::int64_t> max_recorded_bytes;
  /// Of random operators, for all loads of this request. Null: each load has its own.
  std::shared_ptr<exec::RandomSource> random;
  /// Called at the start of each phase, on the loading thread.
  std::function<void(LoadPhase)> on_progress;
};

inline constexpr int kMaxDepth = 1024;
/// A full default line takes 64 times as long as one request: few clients still want a reply then.
inline constexpr int kWaitingPerSlot = 64;
inline constexpr int kMaxWaiting = kWaitingPerSlot * kMaxDepth;

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

  /// The package of a load, which all loads of it share. Fails: kInvalid for no package.
  Result<std::shared_ptr<CachedPackage>> open(const LoadRequest& request);

  /// The footprint of a load; reads the package, allocates nothing.
  Result<Footprint> estimate(const LoadRequest& request);

  /// Ends soon after `stop` is requested: between two operations or constants in preparation, or
  /// two blocks of a copy. A failed load releases all its resources.
  /// Fails: kInvalid, kUnsupportedVersion  the package
  ///        kInvalidHandle                 the group
  ///        kNotEnoughCores, kOutOfResources
  ///        kTimeout                       the cores were not free by the deadline of `wait`
  ///        kCancelled
  Result<std::shared_ptr<Model>> load(const LoadRequest& request, const std::stop_token& stop);

  /// A package and the group for its model.
  struct Entered {
    std::shared_ptr<GroupScheduler> group;
    std::shared_ptr<const package::Executable> executable;
  };
  /// The first part of `load`, without preparation. The caller calls GroupTable::leave at the end.
  Result<Entered> enter(const LoadRequest& request, const std::stop_token& stop);

 private:
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
