// Words of JSON schemas, and the counts that some of them give.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::grammar {

/// How much of a schema its grammar must say.
enum class Strictness {
  kExact,  ///< every text is valid; a word that a grammar cannot say is refused
  kLoose,  ///< such a word restricts nothing
};

/// Whether a word says nothing of what is valid: "title", and every word that JSON Schema does not
/// know, as 2020-12 has it (core, 4.3.1).
bool is_annotation(std::string_view word);

/// Whether the schema says nothing but this word and annotations.
bool is_alone(const nlohmann::ordered_json& schema, std::string_view word);

/// A count such as "minItems". Absent without the word.
/// Fails: kInvalidArgument for what is no whole number from 0 to 2^17.
Result<std::optional<std::int64_t>> count_of(const nlohmann::ordered_json& schema, const char* word,
                                             const std::string& path);

/// Fails: kInvalidArgument if `least` is above `most`. `what`: is counted.
Status check_order(std::int64_t least, std::optional<std::int64_t> most, const char* what,
                   const std::string& path);

}  // namespace sluice::grammar
