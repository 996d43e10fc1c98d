// How a model of a tokenizer turns a word into tokens.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/json/field.h"
#include "text/vocabulary/vocabulary.h"

namespace sluice::text {

/// Immutable; safe across threads.
class Model {
 public:
  virtual ~Model() = default;
  virtual const Vocabulary& vocabulary() const = 0;
  /// Appends the tokens of a word that pre-tokenizers made. Requires: valid UTF-8, not empty.
  /// Fails: kInvalidArgument if the word needs an unknown token and the vocabulary has none.
  virtual Status encode(std::string_view word, std::vector<TokenId>& ids) const = 0;
};

/// The field "model" of a file. Fails: kUnimplemented, kInvalidArgument.
Result<std::unique_ptr<const Model>> read_model(const Field& field);

}  // namespace sluice::text
