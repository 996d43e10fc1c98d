// Paths of a repository without their links.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace sluice::repository {

/// `path` without links.
/// Fails: kNotFound; kInvalidArgument for a path that leads out of `root`.
Result<std::filesystem::path> resolve(const std::filesystem::path& path,
                                      const std::filesystem::path& root);

}  // namespace sluice::repository
