// A text and the pieces into which pre-tokenizers cut it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode/regex.h"

namespace sluice::text {

/// Pieces are not empty, do not overlap, and stand in order; parts of the text may be in none.
struct Pieces {
  std::string text;
  std::vector<Match> spans;
  /// Whether the text begins where the whole input begins.
  bool is_at_start = true;

  std::string_view piece(const Match& span) const {
    return std::string_view(text).substr(span.begin, span.end - span.begin);
  }
};

}  // namespace sluice::text
