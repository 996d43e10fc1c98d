// Cuts at characters of a kind.
#pragma once

#include <utility>
#include <vector>

#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/pre_tokenizers/split_behavior.h"
#include "text/unicode/characters.h"

namespace sluice::text {

/// Replaces `pieces.spans` by the parts of each; `is_delimiter(character)` says where to cut.
template <typename Predicate>
void split_characters(Pieces& pieces, SplitBehavior behavior, const Predicate& is_delimiter) {
  std::vector<Match> spans;
  spans.reserve(pieces.spans.size());
  for (const Match& span : pieces.spans) {
    Splitter splitter(behavior, spans);
    std::size_t begin = span.begin;
    for (std::size_t at = span.begin; at < span.end;) {
      const std::size_t here = at;
      if (!is_delimiter(next_character(pieces.text, at))) continue;
      if (begin < here) splitter.add({begin, here}, false);
      splitter.add({here, at}, true);
      begin = at;
    }
    if (begin < span.end) splitter.add({begin, span.end}, false);
    splitter.finish();
  }
  pieces.spans = std::move(spans);
}

}  // namespace sluice::text
