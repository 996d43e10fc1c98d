// A text and the pieces into which pre-tokenizers cut it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
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

/// Replaces each piece by what `append(span, piece, text)` adds to the text.
template <typename Append>
void map_pieces(Pieces& pieces, const Append& append) {
  Pieces mapped;
  mapped.is_at_start = pieces.is_at_start;
  mapped.text.reserve(pieces.text.size() + pieces.text.size() / 2);
  mapped.spans.reserve(pieces.spans.size());
  for (const Match& span : pieces.spans) {
    const std::size_t begin = mapped.text.size();
    append(span, pieces.piece(span), mapped.text);
    mapped.spans.push_back({begin, mapped.text.size()});
  }
  pieces = std::move(mapped);
}

}  // namespace sluice::text
