// Regular expressions of JSON schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "grammar/rules/expression.h"

namespace sluice::grammar {

/// The content of a JSON string.
struct Pattern {
  Expression content;
  std::int64_t least = 0;  ///< characters
  std::optional<std::int64_t> most = 0;
  /// The content is a character of this set, so many times.
  std::optional<Expression> repeated = {};
};

/// The content of a JSON string that the pattern is found in. ECMA 262's characters, classes,
/// groups, alternatives, repetitions, and ^ and $ at the ends of the whole pattern's alternatives.
/// Fails: kInvalidArgument, with the place, for what is no pattern; kUnimplemented, naming it, for
///        what needs more than a grammar (a look ahead, a group's text again), and for categories
///        of Unicode.
Result<Pattern> read_pattern(std::string_view pattern);

}  // namespace sluice::grammar
