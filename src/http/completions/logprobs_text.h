// Log probabilities in the two forms of OpenAI's API.
#pragma once

#include <string>

#include "completions/text_sink.h"

namespace sluice::http {

/// The field "logprobs" of one choice. Used by one thread at a time.
///
/// A chat has an object for each token, under "content", whose "bytes" clients join where a
/// character has several tokens. A completion has four lists: "tokens", "token_logprobs",
/// "top_logprobs" (likeliest ones and the token itself) and "text_offset" (in characters).
/// A token that is part of a character is spelled "bytes:\\xe4" there.
/// Source: platform.openai.com/docs/api-reference, "logprobs" of both objects.
class LogprobsText {
 public:
  explicit LogprobsText(bool is_chat) : is_chat_(is_chat) {}

  /// One without log probabilities adds nothing.
  void add(const completions::Piece& piece);
  /// JSON of what was added since the last call; "null" for nothing.
  std::string take();

 private:
  void add_to_chat(const completions::Piece& piece);
  void add_to_completion(const completions::Piece& piece);

  const bool is_chat_;
  bool is_empty_ = true;
  std::string content_;                           ///< of a chat; the next four of a completion
  std::string tokens_, values_, tops_, offsets_;  ///< each between brackets that `take` writes
};

}  // namespace sluice::http
