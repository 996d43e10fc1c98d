// What a backend takes of an operator, found out by asking it about small made-up operations.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "ops/schema.h"

namespace sluice::tool {

/// Element types that a backend takes.
struct TypesTaken {
  std::vector<ir::ElementType> own;      ///< with some operation that a kernel of its own runs
  std::vector<ir::ElementType> generic;  ///< with generic kernels alone, which are slow
};

/// Types of the operator's first input (of its output, if it has no inputs) with which `backend`
/// takes some operation of the kind: of rank 0 to 4, with and without optional inputs, its other
/// inputs constant or not. Empty for operators that never reach a backend.
TypesTaken types_taken(const backend::Backend& backend, const ops::OpSchema& schema);

}  // namespace sluice::tool
