#include "recipes/generation_facts.h"

#include <limits>

namespace sluice::recipes {
namespace {

constexpr std::size_t kMaxStops = 64;
constexpr std::uint64_t kMostId = std::numeric_limits<std::int32_t>::max();

/// A number or a list of them.
Result<nlohmann::json> stops_of(const nlohmann::json& value) {
  nlohmann::json stops = value.is_array() ? value : nlohmann::json::array({value});
  if (value.is_null()) stops = nlohmann::json::array();
  for (const auto& stop : stops) {
    const bool is_id = stop.is_number_unsigned() && stop.get<std::uint64_t>() <= kMostId;
    if (is_id && stops.size() <= kMaxStops) continue;
    return invalid_argument("eos_token_id: expected a token's id, or at most {} of them",
                            kMaxStops);
  }
  return stops;
}

}  // namespace

Result<std::string> generation_facts(const nlohmann::json& config, const nlohmann::json& generation,
                                     std::int64_t context,
                                     const std::vector<std::string>& adapters) {
  if (!generation.is_object()) return invalid_argument("generation_config.json is no object");
  constexpr const char* kStops = "eos_token_id";
  const nlohmann::json& source = generation.contains(kStops) ? generation : config;
  nlohmann::json facts = {{"context", context}};
  facts["stop"] = SLUICE_TRY(stops_of(source.value(kStops, nlohmann::json())));
  if (!adapters.empty()) facts["adapters"] = adapters;
  if (const auto samples = generation.find("do_sample"); samples != generation.end()) {
    if (!samples->is_boolean()) return invalid_argument("do_sample: expected true or false");
    facts["do_sample"] = *samples;
  }
  for (const char* name : {"temperature", "top_k", "top_p", "min_p", "repetition_penalty"}) {
    const auto found = generation.find(name);
    if (found == generation.end() || found->is_null()) continue;
    if (!found->is_number()) return invalid_argument("{}: expected a number", name);
    facts[name] = *found;
  }
  return facts.dump();
}

}  // namespace sluice::recipes
