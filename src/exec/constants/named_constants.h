// The constants of a compiled model that users can name.
#pragma once

#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::exec {

/// A place where a graph holds a constant.
struct ConstantPlace {
  ir::SubgraphId subgraph;
  ir::OperandId operand;
};

/// A constant that operations of several subgraphs may read: each subgraph has an operand of its
/// own.
struct NamedConstant {
  std::string name;
  ir::Constant value;
  std::vector<ConstantPlace> places;  ///< in the order of the subgraphs; never empty
  bool is_one_value = true;           ///< otherwise different constants share the name
};

/// In the order of their first places. Constants without a name are left out.
std::vector<NamedConstant> named_constants(const ir::Graph& graph);

}  // namespace sluice::exec
