// Where a compiled model is cut into segments.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::compile {

/// Segments that start where the backend changes and at each operation whose name is in `cuts`;
/// named after that operation. None for neither cuts nor cores: then the package says nothing.
/// Fails: kInvalidArgument  a name that no operation has, or one that several have; another number
///                          of `cores` than of segments, naming those; cores below 1
Result<std::vector<package::SegmentSpec>> cut_segments(const package::Executable& executable,
                                                       std::span<const std::string> cuts,
                                                       std::span<const std::int32_t> cores);

}  // namespace sluice::compile
