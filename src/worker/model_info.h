// What a worker says of a model that it has loaded, and what the daemon makes of it.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>

#include "runtime/model/model.h"

namespace sluice::worker {

/// As server.h says.
nlohmann::json info_json(std::uint64_t model, const runtime::ModelInfo& info);

/// Hostile numbers become plain ones: no sum or product of sizes overflows.
runtime::ModelInfo info_of(const nlohmann::json& loaded);

}  // namespace sluice::worker
