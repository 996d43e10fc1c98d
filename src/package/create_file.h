// The file that a package is written to.
#pragma once

#include <filesystem>

#include "base/file.h"
#include "base/result.h"

namespace sluice::package {

/// A package takes the place of one of that name at `commit`, and of no other file: not of the
/// model that it was compiled from. Fails: kInvalidArgument; as AtomicFile::create.
Result<AtomicFile> create_file(const std::filesystem::path& path);

}  // namespace sluice::package
