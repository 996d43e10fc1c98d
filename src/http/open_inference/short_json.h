// Bodies of requests that say a few things and carry no tensors.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace sluice::http {

/// Nested lists take many times their text.
inline constexpr std::size_t kMaxShortBytes = 4096;

/// An object; an empty one for an empty body.
/// Fails: kInvalidArgument for other JSON and for more than `most_bytes`.
Result<nlohmann::json> read_short_json(std::string_view body,
                                       std::size_t most_bytes = kMaxShortBytes);

}  // namespace sluice::http
