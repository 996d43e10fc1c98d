#include "generate/facts.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/json/json_reader.h"

namespace sluice::generate {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr std::size_t kMaxStops = 64;
constexpr std::size_t kMaxAdapters = 256;

Result<float> float_or(const nlohmann::json& json, const char* name, float fallback) {
  const auto found = json.find(name);
  if (found == json.end()) return fallback;
  if (found->is_number()) return found->get<float>();
  return invalid_argument("{}: expected a number", name);
}

Result<Sampling> sampling_of(const nlohmann::json& json) {
  Sampling sampling;
  sampling.repetition_penalty = SLUICE_TRY(float_or(json, "repetition_penalty", 1));
  SLUICE_TRY(sampling.check());
  // Models without the advice to sample, such as base models, are greedy in transformers, too.
  if (const auto samples = json.find("do_sample"); samples == json.end() || *samples != true) {
    return sampling;
  }
  sampling.temperature = SLUICE_TRY(float_or(json, "temperature", 1));
  sampling.top_k =
      static_cast<std::int64_t>(SLUICE_TRY(JsonValue(json, "").int_or("top_k", 50, 0, kMost)));
  sampling.top_p = SLUICE_TRY(float_or(json, "top_p", 1));
  sampling.min_p = SLUICE_TRY(float_or(json, "min_p", 0));
  SLUICE_TRY(sampling.check());
  return sampling;
}

}  // namespace

Result<Facts> parse_facts(const std::string& text) {
  const nlohmann::json json = SLUICE_TRY(parse_json(text));
  const JsonValue value(json, "");
  Facts facts;
  const JsonValue context = SLUICE_TRY(value.field("context"));
  facts.context = SLUICE_TRY(context.as_int(1, kMost));
  for (const JsonValue& stop : SLUICE_TRY(value.items_or_none("stop", kMaxStops))) {
    facts.stops.push_back(SLUICE_TRY(stop.as_int(0, kMost)));
  }
  for (const JsonValue& name : SLUICE_TRY(value.items_or_none("adapters", kMaxAdapters))) {
    facts.adapters.push_back(SLUICE_TRY(name.as_text()));
  }
  facts.sampling = SLUICE_TRY(sampling_of(json));
  return facts;
}

Result<std::int64_t> find_adapter(const Facts& facts, const std::string& name) {
  if (name.empty()) return -1;
  const auto found = std::ranges::find(facts.adapters, name);
  if (found != facts.adapters.end()) return found - facts.adapters.begin();
  if (facts.adapters.empty()) {
    return make_error(Code::kNotFound, "no adapter \"{}\": the model was compiled without adapters",
                      name);
  }
  return make_error(Code::kNotFound, "no adapter \"{}\"; the model has {}", name,
                    fmt::join(facts.adapters, ", "));
}

Result<Facts> facts_of(const std::map<std::string, std::string>& metadata) {
  const auto fact = metadata.find(kFact);
  if (fact != metadata.end()) return parse_facts(fact->second).with_context(kFact);
  return invalid_argument("the model generates no text: its package has no fact \"{}\"", kFact);
}

}  // namespace sluice::generate
