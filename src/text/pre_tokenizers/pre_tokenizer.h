// Pre-tokenizers cut a text into words before a model sees it.
#pragma once

#include <memory>

#include "base/result.h"
#include "text/json/field.h"
#include "text/pre_tokenizers/pieces.h"
#include "text/unicode/regex.h"

namespace sluice::text {

/// Immutable; safe across threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts each piece further; may change the text. Fails: kResourceExhausted, by its expression.
  virtual Status split(Pieces& pieces, RegexBudget& budget) const = 0;
};

/// The field "pre_tokenizer" of a file. Fails: kUnimplemented, kInvalidArgument.
Result<std::unique_ptr<const PreTokenizer>> read_pre_tokenizer(const Field& field);

}  // namespace sluice::text
