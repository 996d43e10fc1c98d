// Operators that a program registered in libsluice.
#pragma once

#include "base/status.h"
#include "sluice/operators.h"

namespace sluice::compiler {

/// libsluice and this library each have a table of operators: brings entries of the first to the
/// second. An operator may come again. Fails: kInvalidArgument naming the one that is wrong.
Status register_operators(const sluice_operator* const* operators, std::size_t num_operators);

}  // namespace sluice::compiler
