// The functions of an engine: deployed models that share lanes of cores and start when requests
// come.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/table_host.h"
#include "sandbox/lane_host.h"

namespace sluice::runtime {
class Engine;
}

namespace sluice::sandbox {

struct Function;
class FunctionSink;
class Lane;

struct FunctionHostOptions {
  /// Functions that run at a time in this process, each on `lane_cores`. Their cores are reserved
  /// while there are functions; fewer run where fewer are free.
  std::int32_t num_lanes = 1;
  std::int32_t num_cells = 1;   ///< most lanes whose functions run in a process of their own
  std::int32_t lane_cores = 1;  ///< cores of a function that runs
};

/// A model host whose models are functions. Safe from any thread. Every Status has a RuntimeCode.
class FunctionHost final : public runtime::TableHost<FunctionSink> {
 public:
  static constexpr std::size_t kMaxFunctions = 65536;

  /// `engine` outlives the host.
  FunctionHost(runtime::Engine& engine, const FunctionHostOptions& options);
  /// Shuts down and cancels requests in flight.
  ~FunctionHost() override { shutdown(0); }

  /// Allows functions in cells. Called before all other functions; `cells.models` outlives the
  /// host.
  void set_cells(LaneHost cells) { cells_ = std::move(cells); }
  /// Allows programs, on lanes of this host. As set_cells.
  void set_programs(LaneHost programs) { programs_ = std::move(programs); }

  Clock& clock() override;

  /// Deploys the package of `request` and leaves the function warm. `request.depth` (0: 1)
  /// is the number of its requests in one turn. The name, not necessarily unique,
  /// defaults to the file's. With isolation "process" it runs in a cell. A program, which
  /// `request.path` names, has a process of its own in any case. Blocks.
  /// Fails: as Engine::load; kInvalid for options out of range, a request with a group, or a cell
  ///        or a program where there are none;
  ///        kOutOfResources for a package over its quota; kNotEnoughCores for the first lane.
  Result<terms::ModelHandle> deploy(const runtime::LoadRequest& request,
                                    const terms::FunctionOptions& options,
                                    terms::Isolation isolation = terms::Isolation::kStream);
  /// Fails: kInvalidHandle.
  Result<terms::FunctionState> state(terms::ModelHandle handle) const;
  /// Whether it runs in a process of its own, which can be ended.
  bool is_in_cell(terms::ModelHandle handle) const;

  /// As `deploy` with default options.
  Result<terms::ModelHandle> load(const runtime::LoadRequest& request,
                                  const std::stop_token& stop) override;
  /// Makes the function warm before its next request.
  Status start(terms::ModelHandle handle) override;
  /// Makes the function cold after its current turn. It still takes requests.
  Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;
  /// Removes the function and cancels its requests; a lane without functions gives its cores back.
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;

  Result<runtime::ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<terms::Health> health(terms::ModelHandle handle) const override;
  Result<std::shared_ptr<runtime::RequestSink>> sink(terms::ModelHandle handle) const override;
  /// Models on the group of a lane are its warm functions'.
  bool uses(const terms::ModelInfo& other) const override;

  void shutdown(std::int64_t drain_deadline_ns) override;

 private:
  static LaneHost host_of(runtime::Engine& engine);
  terms::ModelInfo describe(std::uint64_t handle, const FunctionSink& sink) const override;
  Result<std::shared_ptr<Function>> open(const runtime::LoadRequest& request,
                                         const terms::FunctionOptions& options,
                                         terms::Isolation isolation);
  Status open_package(Function& function, const runtime::LoadRequest& request,
                      terms::Isolation isolation);
  Result<std::shared_ptr<Lane>> choose_lane(const Function& function, terms::Isolation isolation);
  Result<std::shared_ptr<Lane>> make_lane(const LaneHost& host, std::int32_t most);
  void drop_lane_if_empty(const std::shared_ptr<Lane>& lane);

  runtime::Engine& engine_;
  const FunctionHostOptions options_;
  const LaneHost daemons_;          ///< lanes of this process
  LaneHost cells_;                  ///< without models: there are none
  LaneHost programs_;               ///< the same
  std::mutex change_mutex_;         ///< held during a deployment and a removal
  mutable std::mutex lanes_mutex_;  ///< guards the next two
  std::vector<std::shared_ptr<Lane>> lanes_;
  bool is_open_ = true;
};

}  // namespace sluice::sandbox
