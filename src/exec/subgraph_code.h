// A subgraph prepared to run (the main graph, a branch, a loop's body): what all contexts share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backend/texts.h"
#include "exec/range_plan.h"

namespace sluice::exec {

/// Immutable once loaded.
struct SubgraphCode {
  ir::SubgraphId id;
  const ir::Subgraph* subgraph = nullptr;
  plan::BindingNumbers numbers;
  Facts initial_facts;
  /// The plan of the whole subgraph, for inputs of `static_dims`, if all shapes are known at load.
  /// Null otherwise.
  std::shared_ptr<const RangePlan> static_plan;
  std::vector<std::vector<std::int64_t>> static_dims;  ///< by input
  /// Inputs whose elements shape functions read; a plan depends on these elements.
  std::vector<bool> is_shape_input;
  /// By operand: the last position of the order that reads it; past the end for outputs.
  std::vector<std::size_t> last_use;
  /// By operand: the last position that reads it, bodies included.
  std::vector<std::size_t> last_read;
  bool has_values = false;  ///< some operand is no tensor
  /// The last inputs, so many, are captured by the operation that runs the subgraph: they stay the
  /// same in all iterations of a loop.
  std::size_t num_captures = 0;
  /// Constants of strings, as texts that point into the constants' bytes.
  std::map<ir::OperandId, std::vector<sluice_text>> texts;

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
