// Normalizers change a text before pre-tokenizers cut it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "text/json/field.h"
#include "text/unicode/regex.h"

namespace sluice::text {

/// Parts of a chain may each make a text longer; this bounds what comes out of any.
inline constexpr std::size_t kMaxWorkingBytes = std::size_t{256} << 20U;

/// Fails: kResourceExhausted for a text over kMaxWorkingBytes.
inline Status check_working_size(std::size_t bytes) {
  if (bytes <= kMaxWorkingBytes) return ok_status();
  return make_error(Code::kResourceExhausted, "the tokenizer makes more than {} bytes of the text",
                    kMaxWorkingBytes);
}

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
