// The graphs of functions of a daemon.
#pragma once

#include <memory>
#include <mutex>

#include "runtime/table_host.h"
#include "sandbox/function_host.h"
#include "sandbox/graph/function_graph.h"

namespace sluice::sandbox {

/// A model host whose models are graphs of the functions of another host. Safe from any thread.
/// Every Status has a RuntimeCode.
class GraphHost final : public runtime::TableHost<FunctionGraph> {
 public:
  static constexpr std::size_t kMaxGraphs = 4096;

  /// `functions` and `exchange`, which counts the tensors between functions, outlive the host.
  /// Null: nothing counts them.
  GraphHost(FunctionHost& functions, Exchange* exchange)
      : TableHost(runtime::HandleKind::kGraph, "graph", "no longer"),
        functions_(functions),
        exchange_(exchange) {}
  ~GraphHost() override { shutdown(0); }

  /// Checks the graph and takes requests from now on.
  /// Fails: as plan_graph; kInvalidHandle for a node that is no function; kOutOfResources.
  Result<terms::ModelHandle> deploy(terms::GraphRequest request);
  /// The same of a plan over any models. `request` names it and its nodes, which no function of the
  /// host is. Fails: kOutOfResources.
  Result<terms::ModelHandle> add(terms::GraphRequest request, GraphPlan plan);
  /// Fails: kInvalidHandle.
  Result<terms::GraphState> state(terms::ModelHandle handle) const;
  /// Fails: kFailed, naming a graph that has the function.
  Status check_unused(terms::ModelHandle function) const;

  Clock& clock() override { return functions_.clock(); }
  /// Fails: a package is no graph.
  Result<terms::ModelHandle> load(const runtime::LoadRequest& request,
                                  const std::stop_token& stop) override;
  // A graph is always started, and holds no memory. These fail: kFailed.
  Status start(terms::ModelHandle handle) override;
  Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;
  /// Removes the graph; its functions stay. Blocks until its requests are answered, which are
  /// cancelled at the deadline.
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;

  Result<runtime::ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<std::shared_ptr<runtime::RequestSink>> sink(terms::ModelHandle handle) const override;

  /// Before the functions'. All graphs drain to the same deadline.
  void shutdown(std::int64_t drain_deadline_ns) override;

 private:
  terms::ModelInfo describe(std::uint64_t handle, const FunctionGraph& graph) const override;
  Status check_room() const;

  FunctionHost& functions_;
  Exchange* const exchange_;
  std::mutex change_mutex_;  ///< held during a deployment
};

}  // namespace sluice::sandbox
