// Expressions of tokenizer.json are written for Oniguruma; PCRE2 runs them here.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::text {

/// The expression as PCRE2 takes it, with the same meaning: \s, \w and \h are spelled as sets,
/// because the two disagree about them. Fails: kUnimplemented for what PCRE2 reads as something
/// else: sets within sets and their
///        intersections, \W within a set, a '+' behind {n,m}.
Result<std::string> to_pcre2(std::string_view oniguruma);

/// The expression that matches `text` and nothing else.
std::string escape_expression(std::string_view text);

}  // namespace sluice::text
