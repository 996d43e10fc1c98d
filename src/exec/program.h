// What all contexts share of one subgraph that runs: the main one, a branch, a loop's body.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/texts.h"
#include "exec/stage_plan.h"

namespace sluice::exec {

/// Plans by what was known when they were made. Bounded: the oldest goes. Takes a lock; contexts
/// ask only for shapes that they have not met themselves.
class PlanCache {
 public:
  std::shared_ptr<const StagePlan> find(const RunKey& key) const;
  void insert(const RunKey& key, std::shared_ptr<const StagePlan> plan);

 private:
  static constexpr std::size_t kMostPlans = 128;
  mutable std::mutex mutex_;
  std::map<RunKey, std::shared_ptr<const StagePlan>> plans_;
  std::list<RunKey> order_;
};

/// Immutable once loaded, but for the plans it has met.
struct Program {
  ir::SubgraphId id;
  const ir::Subgraph* subgraph = nullptr;
  plan::BindingNumbers numbers;
  ops::SubgraphFacts initial_facts;
  /// Where every shape is known at load: one stage, for inputs of `static_dims`. Null otherwise.
  std::shared_ptr<const StagePlan> static_plan;
  std::vector<std::vector<std::int64_t>> static_dims;  ///< by input
  /// Inputs whose integers shape functions read: part of what a plan depends on.
  std::vector<bool> is_shape_input;
  /// By operand: the last place of the order that reads it; past the end for outputs.
  std::vector<std::size_t> last_use;
  bool has_values = false;  ///< some operand is no tensor
  /// Constants of strings, as texts that point into the constants' bytes.
  std::map<ir::OperandId, std::vector<sluice_text>> texts;
  mutable PlanCache plans;

  bool is_tensor(ir::OperandId operand) const {
    return subgraph->operand(operand).type.is_tensor();
  }
  const ir::Operation& operation_at(std::size_t place) const {
    return subgraph->operation(subgraph->order()[place]);
  }
  /// Where kernels read a constant.
  const void* constant_data(ir::OperandId operand) const;
};

/// Fails: kInvalidArgument for strings whose offsets are wrong.
Result<std::unique_ptr<Program>> make_program(const ir::Graph& graph, ir::SubgraphId id);

/// Whether the executor runs the operation itself: control flow, sequences, optionals.
bool is_executor_step(const ops::OpSchema& schema,
                      std::span<const ops::OperandFacts* const> inputs);

}  // namespace sluice::exec
