// A deployed graph of functions, which takes requests as a model does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/request/locked_sink.h"
#include "runtime/statistics/model_statistics.h"
#include "sandbox/exchange.h"
#include "sandbox/graph/graph_plan.h"

namespace sluice::sandbox {

class GraphRun;

/// Runs the functions of each request one after the other. A tensor passes from function to
/// function where it lies, and counts meanwhile in the exchange quota of the request's owner.
/// Deadline and priority of a request are those of all its functions.
///
/// Locks: `mutex_` is never held while a function, a run or an on_done is called.
///
/// Safe from any thread. Always owned by a shared_ptr; runs keep it alive.
class FunctionGraph final : public runtime::LockedSink,
                            public std::enable_shared_from_this<FunctionGraph> {
 public:
  /// `exchange` and `clock` outlive the graph. Without an exchange nothing counts what waits.
  FunctionGraph(terms::GraphRequest request, GraphPlan plan, Exchange* exchange, Clock& clock)
      : request_(std::move(request)), plan_(std::move(plan)), exchange_(exchange), clock_(clock) {}

  const std::string& name() const { return request_.name; }
  const std::vector<terms::GraphNode>& nodes() const { return request_.nodes; }
  const GraphPlan& plan() const { return plan_; }
  runtime::ModelStatisticsSnapshot statistics() const { return statistics_.snapshot(); }

  const terms::Signature& signature() const override { return plan_.signature; }
  /// As the function with the smallest one.
  int depth() const override;
  /// As the first function, whose refusal is the graph's.
  bool is_full() const override { return plan_.steps.front().sink->is_full(); }
  Clock& clock() const override { return clock_; }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;

  /// Refuses requests from now on and cancels those in flight at `drain_deadline_ns`. Blocks until
  /// all are answered. May be called again.
  void shutdown(std::int64_t drain_deadline_ns);

 private:
  friend class GraphRun;

  Status check_open() const;
  /// A run is about to answer.
  void record(RuntimeCode code, const runtime::RequestTimes& times);
  /// The run has answered.
  void leave(std::uint64_t id);

  const terms::GraphRequest request_;
  const GraphPlan plan_;
  Exchange* const exchange_;
  Clock& clock_;
  bool is_closed_ = false;  ///< `mutex_` guards the members up to `statistics_`
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::shared_ptr<GraphRun>> runs_;
  runtime::ModelStatistics statistics_;  ///< written under the mutex, read without
};

}  // namespace sluice::sandbox
