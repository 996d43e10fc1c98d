// A subgraph prepared to run (the main graph, a branch, a loop's body): what all contexts share.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/texts.h"
#include "exec/range_plan.h"

namespace sluice::exec {

/// Plans of step ranges, by the numbers they were planned for. Bounded: the oldest is evicted.
/// Thread-safe: every call takes the lock. A context asks only on the first run of a shape, and
/// keeps its recording of the plan afterwards.
class PlanCache {
 public:
  std::shared_ptr<const RangePlan> find(const RunKey& key) const;
  void insert(const RunKey& key, std::shared_ptr<const RangePlan> plan);

 private:
  static constexpr std::size_t kMaxPlans = 128;
  mutable std::mutex mutex_;
  std::map<RunKey, std::shared_ptr<const RangePlan>> plans_;
  std::list<RunKey> order_;
};

/// Immutable once loaded, except for the cache of plans.
struct SubgraphCode {
  ir::SubgraphId id;
  const ir::Subgraph* subgraph = nullptr;
  plan::BindingNumbers numbers;
  ops::SubgraphFacts initial_facts;
  /// The plan of the whole subgraph, for inputs of `static_dims`, if all shapes are known at load.
  /// Null otherwise.
  std::shared_ptr<const RangePlan> static_plan;
  std::vector<std::vector<std::int64_t>> static_dims;  ///< by input
  /// Inputs whose elements shape functions read; a plan depends on these elements.
  std::vector<bool> is_shape_input;
  /// By operand: the last position of the order that reads it; past the end for outputs.
  std::vector<std::size_t> last_use;
  bool has_values = false;  ///< some operand is no tensor
  /// The last inputs, so many, are captured by the operation that runs the subgraph: they stay the
  /// same in all iterations of a loop.
  std::size_t num_captures = 0;
  /// Constants of strings, as texts that point into the constants' bytes.
  std::map<ir::OperandId, std::vector<sluice_text>> texts;
  mutable PlanCache plans;

  bool is_captured(std::size_t input) const {
    return input + num_captures >= subgraph->inputs.size();
  }
  bool is_tensor(ir::OperandId operand) const {
    return subgraph->operand(operand).type.is_tensor();
  }
  const ir::Operation& operation_at(std::size_t position) const {
    return subgraph->operation(subgraph->order()[position]);
  }
  /// Where kernels read a constant.
  const void* constant_data(ir::OperandId operand) const;
};

/// Fails: kInvalidArgument for strings whose offsets are wrong.
Result<std::unique_ptr<SubgraphCode>> prepare_subgraph(const ir::Graph& graph, ir::SubgraphId id);

/// Whether the executor runs the operation itself: control flow, sequences, optionals.
bool is_executor_step(const ops::OpSchema& schema,
                      std::span<const ops::OperandFacts* const> inputs);

}  // namespace sluice::exec
