// Expressions of tokenizer.json are written for Oniguruma; PCRE2 runs them here.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::text {

/// The expression as PCRE2 takes it, with the same meaning, as far as the two have the same version
/// of Unicode. What they disagree about is spelled out: \s, \w, \h, \b, \v, [[:name:]], scripts,
/// {,n}, options. Only a letter that folds to several, such as ß in (?i:ss), is missed.
/// Fails: kUnimplemented for what PCRE2 reads as something else: sets within sets and their
///        intersections, \W and other inverses of several ranges within a set, a '+' behind
///        {n,m}, a '?' behind {n}.
Result<std::string> to_pcre2(std::string_view oniguruma);

/// The expression that matches `text` and nothing else.
std::string escape_expression(std::string_view text);

}  // namespace sluice::text
