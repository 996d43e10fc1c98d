// What a lane needs of the host of its models.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/model_host.h"

namespace sluice::sandbox {

/// One life of the process that runs a lane's models. The next life restores them in their phases.
struct HostLife {
  enum class State : std::uint8_t { kServes, kRestarts, kFailed };
  State state = State::kServes;
  std::int64_t number = 0;  ///< grows with each life
};

/// Where the models of a lane run, and its core group: the engine, or a pool of workers. A worker's
/// lane is a cell: a fault of its process does not reach the functions of other lanes.
struct LaneHost {
  runtime::ModelHost* models = nullptr;  ///< outlives its lanes
  std::function<Result<terms::CoreGroupId>(const terms::CoreRequest&)> create_group;
  std::function<Status(terms::CoreGroupId)> destroy_group;
  std::function<HostLife(terms::CoreGroupId)> life;
  /// Starts the process of a group that failed, because it died too often. Blocks.
  std::function<Status(terms::CoreGroupId)> revive;
};

}  // namespace sluice::sandbox
