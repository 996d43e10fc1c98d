// The operators that the program registered in this process.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "sluice/operators.h"

namespace sluice::operators {

/// Copies the struct and its texts, and makes the operator known to shape inference and to the
/// backend "custom". Safe from any thread.
/// Fails: kInvalidArgument naming the field; kAlreadyExists for an operator of the same domain and
///        name, unless all fields are equal and `may_repeat`.
Status register_operator(const sluice_operator& op, bool may_repeat = false);

std::size_t num_registered_operators();
/// In the order of registration; null past the end. Lives until the process ends.
const sluice_operator* registered_operator(std::size_t index);
const sluice_operator* find_registered_operator(std::string_view domain, std::string_view name);

}  // namespace sluice::operators
