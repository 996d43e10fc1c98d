// JSON schemas (2020-12, and the forms of draft 7 that are alike) as grammars.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/rules/expression.h"
#include "grammar/schema/words.h"

namespace sluice::grammar {

/// A grammar whose texts are JSON that the schema accepts. It has not all of these: properties come
/// in the schema's order, names that the schema does not know only where additionalProperties is
/// there, spaces and digits are bounded, and a value of a schema without "type" has a type that its
/// other words are about. "oneOf" is read as "anyOf". Items of "uniqueItems" come in the order of
/// their "enum".
/// Fails: kInvalidArgument for what is no schema, more than 256 KiB, more than 64 deep, or too much
///        work; kUnimplemented, with the place and the word, for a word that is not supported; if
///        loose, only where schemas cannot be merged, or "$ref" leads outside.
Result<Rules> read_schema(std::string_view json, Strictness strictness = Strictness::kExact);

}  // namespace sluice::grammar
