// The operators that the program registered in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "sluice/operators.h"

namespace sluice::operators {

/// Who registers an operator.
enum class OperatorOrigin : std::uint8_t {
  kProgram,  ///< the program itself
  kLibrary,  ///< another library of Sluice in this process, which may give it again
  kModule,   ///< a module of operators. Each library opens its own copy of one.
};

/// Copies the struct and its texts, and makes the operator known to shape inference and to the
/// backend "custom". Safe from any thread.
/// Fails: kInvalidArgument naming the field; kAlreadyExists for an operator of the same domain and
///        name, unless all fields are equal and `origin` is kLibrary.
Status register_operator(const sluice_operator& op,
                         OperatorOrigin origin = OperatorOrigin::kProgram);

/// Those of modules do not count: they are not for other libraries.
std::size_t num_registered_operators();
/// In the order of registration; null past the end. Lives until the process ends.
const sluice_operator* registered_operator(std::size_t index);
const sluice_operator* find_registered_operator(std::string_view domain, std::string_view name);

}  // namespace sluice::operators
