// A load as a host of models gets it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "terms/core_request.h"
#include "terms/load.h"
#include "topology/cores/wait_policy.h"

namespace sluice {
class ByteBudget;
}
namespace sluice::exec {
class RandomSource;
}
namespace sluice::package {
struct Executable;
}

namespace sluice::runtime {

class CachedPackage;
class GroupScheduler;

enum class LoadPhase : std::uint8_t { kReading, kPlacing, kPreparing, kAllocating, kDone };

/// A host reads of the options what it knows: `isolation` and `function` choose the host, and
/// `random` has the seed.
struct LoadRequest : terms::LoadOptions {
  LoadRequest() = default;
  explicit LoadRequest(terms::LoadOptions options) : terms::LoadOptions(std::move(options)) {}

  std::filesystem::path path;  ///< of a package; or
  bool is_path_real = false;   ///< it was resolved and checked: read by open_real
  std::shared_ptr<const package::Executable> executable;  ///< the executable itself; or
  std::shared_ptr<CachedPackage> package;                 ///< one that the caller keeps
  /// The file of `executable`, which a host passes to its worker; -1: none. Borrowed.
  int package_fd = -1;
  /// Eligible devices of the implicit group. The model determines their kind and the number of
  /// cores. `num_cores` above 0 bounds a model that takes all free ones.
  terms::CoreRequest where;
  /// Above 0, with a group: the model takes so many cores of the group and runs beside the group's
  /// other models: started by its load, on the threads that wait for its requests. Whoever loads it
  /// bounds how many of them run at a time.
  std::int32_t cores_beside_others = 0;
  /// Without a group: if all eligible cores belong to other groups, the model joins a group that
  /// such a load made, and takes turns with its models. Without eligible groups `wait` decides.
  bool may_share = false;
  /// If the cores belong to other groups.
  topology::WaitPolicy wait = topology::WaitPolicy::fail();
  /// What the model holds in host memory is charged to it, and to its parents. Null: the process's.
  std::shared_ptr<ByteBudget> payer;
  /// Source of random operators, for all loads of this request. Null: each load has its own.
  std::shared_ptr<exec::RandomSource> random;
  /// Called at the start of each phase, on the loading thread.
  std::function<void(LoadPhase)> on_progress;
};

/// A package and the group for its model.
struct Entered {
  std::shared_ptr<GroupScheduler> group;
  std::shared_ptr<const package::Executable> executable;
};

}  // namespace sluice::runtime
