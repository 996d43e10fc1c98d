// Bodies of requests that say a few things and carry no tensors.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "base/result.h"

namespace sluice::http {

/// An object; an empty one for an empty body.
/// Fails: kInvalidArgument for what is none, and for more than 4 KiB.
Result<nlohmann::json> read_short_json(std::string_view body);

}  // namespace sluice::http
