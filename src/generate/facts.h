// What a package says about the text that its model generates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/sampler.h"
#include "package/executable.h"

namespace sluice::generate {

/// The key of a package's metadata; its value is a JSON object.
inline constexpr const char* kFact = package::kGenerationFact;

struct Facts {
  std::int64_t context = 0;                ///< the most tokens of a sequence, its prompt included
  std::vector<std::int64_t> stops;         ///< ids of tokens that end a text
  std::vector<std::string> adapters = {};  ///< that a text may ask for, by number
  Sampling sampling;  ///< what the model's authors advise; greedy without advice
};

/// The number of an adapter; -1 for the model alone, without a name. Fails: kNotFound.
Result<std::int64_t> find_adapter(const Facts& facts, const std::string& name);

/// Fails: kInvalidArgument naming the field that is missing or wrong.
Result<Facts> parse_facts(const std::string& text);
/// Reads a package's metadata. Fails: kInvalidArgument for a model that generates no text.
Result<Facts> facts_of(const std::map<std::string, std::string>& metadata);

}  // namespace sluice::generate
