// The pieces of a text in the making, and where they go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sluice::completions {

/// How a text ended.
struct Ending {
  Status status;         ///< not ok: why it failed
  bool is_stop = false;  ///< at a token or a text that ends it; false: it was as long as it may be
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_tokens = 0;         ///< of the text
  std::int64_t num_cached_tokens = 0;  ///< of the prompt, those that other texts had computed
};

/// How likely the model found a token.
struct SpelledLogprob {
  std::string bytes;  ///< what the token adds to the text; maybe part of a character
  float logprob = 0;
};

/// Part of a text.
struct Piece {
  std::string text;
  /// For a request with `top_logprobs` its token, and behind it the likeliest ones in order; empty
  /// for text behind the last token.
  std::vector<SpelledLogprob> logprobs = {};
  std::int64_t offset = 0;  ///< beside `logprobs`: characters of the text before the token
};

/// Where a text goes. Called by one thread at a time, which must not wait.
class TextSink {
 public:
  TextSink() = default;
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;
  virtual ~TextSink() = default;

  /// A piece, whose text is empty only beside log probabilities. False: no more for now; whoever
  /// says so calls Generation::resume, once.
  virtual bool take(const Piece& piece) = 0;
  /// Called once, last.
  virtual void end(const Ending& ending) = 0;
};

}  // namespace sluice::completions
