// Whole files: mapped, read, written atomically.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace sluice {

/// Maps a regular file read-only and shared; the mapping lives as long as any copy of the Bytes.
/// Fails: kNotFound, kPermissionDenied, kInvalidArgument (not a regular file), kUnknown.
Result<Bytes> map_file(const std::filesystem::path& path);

/// Reads a file of at most `limit_bytes`.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::int64_t limit_bytes = std::int64_t{1} << 30);

/// Writes beside the target and renames over it, so that a reader sees the old file or the new.
Status write_file_atomically(const std::filesystem::path& path,
                             std::span<const std::byte> contents);

}  // namespace sluice
