// A worker's description of a loaded model, and its check by the daemon.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>

#include "terms/model.h"

namespace sluice::worker {

/// As setup.h says.
nlohmann::json info_json(std::uint64_t model, const terms::ModelInfo& info);

/// Hostile numbers become plain ones: no sum or product of sizes overflows.
terms::ModelInfo info_of(const nlohmann::json& loaded);

}  // namespace sluice::worker
