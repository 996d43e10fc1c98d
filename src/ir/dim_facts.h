// What can be told of a dimension without its symbols' values.
#pragma once

#include "ir/dim.h"

namespace sluice::ir {

/// Whether the dimension is at least 0 for all non-negative values of its symbols. A false answer
/// may be wrong.
bool is_never_negative(const Dim& dim);

/// Whether the dimension is an expression that passed the bounds of Dim: 64 terms, or 1024
/// characters in a function. Arithmetic keeps it so. It equals no dimension, not even itself.
/// `ops::infer_operation` gives a symbol of its own to each in an operation's results.
bool is_unnamed(const Dim& dim);

/// Whether `name` is a function in the text of an expression ("max"), which no symbol may be named.
bool is_dim_function(std::string_view name);

}  // namespace sluice::ir
