// Element-wise operators whose result is exact, or of another type than their inputs.
#pragma once

#include <string>
#include <vector>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// The expression of an operator over `inputs`, as write_formula (formulas.h), in the types of the
/// operation's own operands: comparisons, logic, arithmetic of integers, casts, choices.
/// Fails: UNIMPLEMENTED  no formula has this name, or takes these types
Status write_exact_formula(const sluice_op& op, const std::vector<std::string>& inputs,
                           std::string* expression);

}  // namespace sluice::cuda
