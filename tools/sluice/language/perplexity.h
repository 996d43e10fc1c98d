// How well a model foretells a text.
#pragma once

#include <string>

#include "base/result.h"
#include "generate/generator.h"
#include "text/tokenizer.h"

namespace sluice::tool {

/// "perplexity 29.0329 of 12264 tokens in 24 windows of 512": the exponential of the mean of
/// -log(probability) of a token, given those before it in its window. A window is 512 tokens, or
/// the model's context if that is less, the special ones at the begin of a prompt among them. These
/// and the first token of a window are given, not foretold.
/// Fails: kInvalidArgument  for a text in which no token is foretold
///        as the tokenizer and Generator::score
Result<std::string> perplexity_line(generate::Generator& generator,
                                    const text::Tokenizer& tokenizer, const std::string& text);

}  // namespace sluice::tool
