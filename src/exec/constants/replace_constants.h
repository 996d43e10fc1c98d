// Replaces weights of a compiled model.
#pragma once

#include <map>
#include <string>

#include "package/executable.h"

namespace sluice::exec {

using ConstantsByName = std::map<std::string, ir::Constant, std::less<>>;

/// Returns a copy of the executable with other values for some of its constants, wherever the main
/// graph and bodies of control flow read them; everything else is shared with the original. Packed
/// forms of replaced constants are dropped, so loading packs them again. Weights that the compiler
/// folded into others cannot be replaced: their names no longer exist.
/// Fails: kNotFound         no such constant; the message lists all names
///        kInvalidArgument  another type or shape, naming both, too few bytes, or a name of
///                          different constants
///        kUnimplemented    a constant that shapes depend on
Result<package::Executable> replace_constants(const package::Executable& executable,
                                              const ConstantsByName& values);

}  // namespace sluice::exec
