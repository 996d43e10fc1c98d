// Operators that a program registers while it runs, beside those of the table.
#pragma once

#include <functional>
#include <string>

#include "ops/schema.h"

namespace sluice::ops {

/// Bounds on a number of operands; operands past `least` may be absent.
struct OperandCount {
  int least = 1;
  int most = 1;  ///< -1: any number
};

struct CustomOperator {
  std::string domain;
  std::string name;
  int version = 1;
  OperandCount inputs = {};
  OperandCount outputs = {};
  std::uint32_t traits = kNoTraits;
  /// Called by several threads at once.
  std::function<Status(InferenceContext& context)> infer;
};

/// Adds an operator for the rest of the process's life: `find_schema` finds it, with the trait
/// kCustom. Safe from any thread.
/// Fails: kAlreadyExists for an operator that the domain has already.
Status add_custom_operator(CustomOperator custom);

/// Null if no program registered it. Safe from any thread; pointers live as long as the program.
const OpSchema* find_custom_schema(std::string_view domain, std::string_view name);

/// Whether an operation of the graph, in any subgraph, is of a custom operator.
bool has_custom_operators(const ir::Graph& graph);

}  // namespace sluice::ops
