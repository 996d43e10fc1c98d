// Settings of a folder, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

#include "base/result.h"

namespace sluice::recipes {

/// Fails: kNotFound; kInvalidArgument for a file that is no JSON, or has more than a mebibyte.
Result<nlohmann::json> read_json(const std::filesystem::path& path);

}  // namespace sluice::recipes
