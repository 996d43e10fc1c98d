// Spaces as a character that shows, U+2581, and a cut before each.
#pragma once

#include <memory>

#include "text/pre_tokenizers/pre_tokenizer.h"

namespace sluice::text {

Result<std::unique_ptr<const PreTokenizer>> read_metaspace(const Field& field);

}  // namespace sluice::text
