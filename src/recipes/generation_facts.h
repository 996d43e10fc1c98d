// How a model wants to be sampled, as a fact of its graph.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::recipes {

/// The key of the graph's metadata.
inline constexpr const char* kGenerationFact = "sluice.generation";

/// A JSON object: "context", the most positions; "stop", ids of tokens that end a text;
/// "adapters", the names of those that a text may ask for, in the order of their numbers; and what
/// generation_config.json says of "do_sample", "temperature", "top_k", "top_p", "min_p" and
/// "repetition_penalty".
/// Fails: kInvalidArgument naming the field of the wrong kind.
Result<std::string> generation_facts(const nlohmann::json& config, const nlohmann::json& generation,
                                     std::int64_t context,
                                     const std::vector<std::string>& adapters = {});

}  // namespace sluice::recipes
