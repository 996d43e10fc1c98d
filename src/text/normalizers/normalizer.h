// Normalizers change a text before pre-tokenizers cut it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "text/json/field.h"
#include "text/unicode/regex.h"

namespace sluice::text {

/// Immutable; safe across threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Requires: valid UTF-8. Fails: kResourceExhausted, by its expression.
  virtual Status normalize(std::string& text, RegexBudget& budget) const = 0;
};

/// The field "normalizer" of a file. Fails: kUnimplemented, kInvalidArgument.
Result<std::unique_ptr<const Normalizer>> read_normalizer(const Field& field);

}  // namespace sluice::text
