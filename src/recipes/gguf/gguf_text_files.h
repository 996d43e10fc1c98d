// The tokenizer and the chat template of a GGUF file, as the files of a Hugging Face folder.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace sluice::recipes {

/// tokenizer.json and tokenizer_config.json that the keys "tokenizer." stand for; none for a file
/// without a vocabulary.
/// Fails: kInvalidArgument  lists that do not fit each other, a token twice, an id that is none
///        kUnimplemented    another kind of tokenizer than "gpt2" and "llama", or another way to
///        cut
///                          words, by name
Result<std::map<std::string, Bytes>> gguf_text_files(const nlohmann::json& metadata);

}  // namespace sluice::recipes
