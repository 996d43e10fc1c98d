// Bytes as characters that print (GPT-2), before a model; and a cut into words.
#pragma once

#include <memory>

#include "text/pre_tokenizers/pre_tokenizer.h"

namespace sluice::text {

Result<std::unique_ptr<const PreTokenizer>> read_byte_level(const Field& field);

}  // namespace sluice::text
