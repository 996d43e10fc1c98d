// The text of a sequence as its tokens come, up to a text that ends it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "generate/text/stops.h"
#include "text/tokenizer.h"

namespace sluice::generate {

/// Whole characters only. Used by one thread at a time.
class TextStream {
 public:
  /// `stops`: as Stops.
  TextStream(text::Tokenizer tokenizer, std::vector<std::string> stops)
      : decoder_(std::move(tokenizer)), stops_(std::move(stops)) {}

  /// What may be shown with this token; often nothing. Fails: as text::StreamDecoder.
  Result<std::string> add(std::int64_t token);
  /// As text::StreamDecoder.
  Result<std::string> spell(std::int64_t token) const;
  Result<std::int64_t> num_characters() const { return decoder_.num_characters(); }
  /// Whether a text was found that ends the sequence.
  bool is_over() const { return stops_.is_found(); }
  /// The end of the sequence: what was held back.
  Result<std::string> finish();

 private:
  text::StreamDecoder decoder_;
  Stops stops_;
};

}  // namespace sluice::generate
