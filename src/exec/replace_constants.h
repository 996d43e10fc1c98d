// Other weights for a compiled model.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "package/executable.h"

namespace sluice::exec {

using ConstantsByName = std::map<std::string, ir::Constant, std::less<>>;

/// The executable with other values of some of the main graph's constants. All else is shared;
/// packed forms of what was replaced are left out, so that loading packs them anew. Weights that
/// the compiler folded into others have no name any more.
/// Fails: kNotFound         no such constant, listing those there are
///        kInvalidArgument  another type or shape, naming both, or fewer bytes than that takes
///        kUnimplemented    a constant that shapes were planned with
Result<package::Executable> replace_constants(const package::Executable& executable,
                                              const ConstantsByName& values);

}  // namespace sluice::exec
