// {"String": "..."} or {"Regex": "..."}.
#pragma once

#include "base/result.h"
#include "text/json/field.h"
#include "text/unicode/regex.h"

namespace sluice::text {

/// Fails: kInvalidArgument, kUnimplemented.
Result<Regex> read_pattern(const Field& field);

}  // namespace sluice::text
