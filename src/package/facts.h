// Metadata about the origin of a package.
#pragma once

#include <string>

#include "package/executable.h"

namespace sluice::package {

// Keys; docs/api.md has their values.
inline constexpr const char* kNameFact = "name";
inline constexpr const char* kDigestFact = "digest";
inline constexpr const char* kCompilerFact = "compiler";
inline constexpr const char* kOptionsFact = "options";

/// What the package calls its model; empty: nothing, or nothing that a name can be.
std::string name_of(const Executable& executable);

}  // namespace sluice::package
