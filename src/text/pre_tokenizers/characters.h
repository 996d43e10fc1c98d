// Pre-tokenizers that look at one character at a time.
#pragma once

#include <memory>

#include "text/pre_tokenizers/pre_tokenizer.h"

namespace sluice::text {

/// White space goes; runs of word characters, and of others, are pieces.
std::unique_ptr<const PreTokenizer> make_whitespace();
/// White space goes.
std::unique_ptr<const PreTokenizer> make_whitespace_split();
/// White space goes, punctuation stands alone.
std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer();
Result<std::unique_ptr<const PreTokenizer>> read_digits(const Field& field);
Result<std::unique_ptr<const PreTokenizer>> read_punctuation(const Field& field);

}  // namespace sluice::text
