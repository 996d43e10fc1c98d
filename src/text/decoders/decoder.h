// Decoders turn the pieces of tokens back into text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/json/field.h"
#include "text/unicode/regex.h"

namespace sluice::text {

/// State of one call.
struct Decoding {
  RegexBudget budget;
  bool keeps_bytes = false;  ///< that form no character, where U+FFFD would stand for them
};

/// Immutable; safe across threads.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Changes pieces, joins some, or drops some; the text is what they are in a row.
  virtual Status decode(std::vector<std::string>& pieces, Decoding& decoding) const = 0;
};

/// The field "decoder" of a file. Fails: kUnimplemented, kInvalidArgument.
Result<std::unique_ptr<const Decoder>> read_decoder(const Field& field);

}  // namespace sluice::text
