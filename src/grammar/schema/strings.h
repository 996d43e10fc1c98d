// Strings of a schema.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "base/result.h"
#include "grammar/rules/expression.h"
#include "grammar/schema/json_text.h"
#include "grammar/schema/words.h"

namespace sluice::grammar {

/// A string with its quotes, as minLength, maxLength, pattern and format say. A format restricts
/// nothing (2020-12, validation, 7.2.1) where it is unknown, or stands beside a pattern or beside
/// a length that its texts may not have.
/// Fails: kInvalidArgument; kUnimplemented if kExact, for a pattern that a grammar cannot say, and
///        for one beside a length that it cannot count.
Result<Expression> string_of(const nlohmann::ordered_json& schema, const std::string& path,
                             Strictness strictness, Rules& rules, JsonRules& json);

}  // namespace sluice::grammar
