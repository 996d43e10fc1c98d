// Cuts at matches of an expression.
#pragma once

#include <memory>

#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/pre_tokenizers/split_behavior.h"

namespace sluice::text {

/// Replaces `pieces.spans` by the parts of each at the matches. `is_inverse`: the matches are
/// pieces and what lies between them delimits. Fails: kResourceExhausted.
Status split_at_matches(const Regex& regex, SplitBehavior behavior, bool is_inverse, Pieces& pieces,
                        RegexBudget& budget);

Result<std::unique_ptr<const PreTokenizer>> read_split(const Field& field);

}  // namespace sluice::text
