// Reads files of sysfs, which hold a number or a line each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::topology {

/// The first line of a file, at most 4 KiB of it; nullopt if it cannot be read. Drivers answer some
/// reads with an error, and some files are for root alone.
std::optional<std::string> read_line(const std::filesystem::path& file);
/// Nullopt for what is no whole number, too.
std::optional<std::int64_t> read_number(const std::filesystem::path& file);

/// Paths of a folder's entries whose names begin so; sorted. None if there is no such folder.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder,
                                           std::string_view prefix);

}  // namespace sluice::topology
