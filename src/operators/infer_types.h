// The shape function of an operator that the program registered.
#pragma once

#include "base/result.h"
#include "ops/inference.h"
#include "sluice/operators.h"

namespace sluice::operators {

/// Calls `op.infer`, or gives the outputs the type of input 0.
/// Fails: what the function reports; kInvalidArgument for a type that is none, or a dimension that
///        is computed from one that is not known; kInternal if the function throws.
Status infer_types(const sluice_operator& op, ops::InferenceContext& context);

}  // namespace sluice::operators
