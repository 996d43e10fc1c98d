// How tokenizers of bytes cut a text into words before they merge, by the names that GGUF has for
// the ways of published models.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "base/result.h"

namespace sluice::recipes {

struct WordCutter {
  std::string_view expression;  ///< of words; empty: those of GPT-2
  bool has_single_digits;       ///< each digit is a word
  bool is_composed;             ///< the text is brought to NFC first
  bool takes_whole_words;       ///< a word that is a token is not merged from its parts
  bool adds_begin;              ///< the token of a begin stands before a text, unless the file says
};

/// The cutter that "tokenizer.ggml.pre" names. The result lives as long as the program.
/// Fails: kUnimplemented for a way that is not known, or none.
Result<const WordCutter*> word_cutter_of(const nlohmann::json& metadata);

/// As tokenizer.json has it.
nlohmann::json pre_tokenizer_of(const WordCutter& cutter);

}  // namespace sluice::recipes
