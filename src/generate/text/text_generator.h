// Generates texts of a model, one after the other, in pieces.
//
//     auto texts = TextGenerator::create(model, tokenizer);
//     texts->start({.prompt = ids, .max_tokens = 100}, {"\n\n"});
//     while (auto piece = texts->next().value()) show(piece->text);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "generate/generator.h"
#include "generate/logprobs.h"
#include "generate/text/text_stream.h"
#include "text/tokenizer.h"

namespace sluice::generate {

/// As Generator, whose tokens it gives as text. Used by one thread at a time.
class TextGenerator {
 public:
  /// Without a tokenizer a text is the ids of its tokens: "5 17 3".
  /// Fails: as Generator::create.
  static Result<TextGenerator> create(const exec::LoadedModel& model,
                                      std::optional<text::Tokenizer> tokenizer);

  const Facts& facts() const { return generator_.facts(); }

  /// Computes nothing yet, and ends a text in the making. `stops`: texts that end it, which need a
  /// tokenizer.
  /// Fails: as Sequence::start; kInvalidArgument for `stops` without a tokenizer.
  Status start(Request request, std::vector<std::string> stops = {});

  struct Piece {
    std::optional<std::int64_t> token;      ///< none: the end of the text, held back until now
    std::string text;                       ///< whole characters; empty within one
    std::optional<Logprobs> logprobs = {};  ///< of the token, for a request that wants them
  };
  /// A piece for each token; nullopt at the end of the text, whose reason is `finish`.
  /// Fails: as Generator::next but for kCancelled, which is an end; as text::StreamDecoder.
  Result<std::optional<Piece>> next();

  /// kNone while it goes on.
  Finish finish() const { return finish_; }
  std::int64_t num_prompt_tokens() const { return num_prompt_tokens_; }
  /// Tokens of the text so far.
  std::int64_t num_tokens() const { return num_tokens_; }
  std::int64_t copied_bytes() const { return generator_.copied_bytes(); }
  std::int64_t kept_bytes() const { return generator_.kept_bytes(); }

 private:
  TextGenerator(Generator generator, std::optional<text::Tokenizer> tokenizer)
      : generator_(std::move(generator)), tokenizer_(std::move(tokenizer)) {}

  Result<std::optional<Piece>> end(Finish finish);

  Generator generator_;
  std::optional<text::Tokenizer> tokenizer_;
  std::optional<TextStream> stream_;  ///< of the text in the making
  std::int64_t num_prompt_tokens_ = 0;
  std::int64_t num_tokens_ = 0;
  std::optional<std::int64_t> top_logprobs_;
  Finish finish_ = Finish::kNone;
};

}  // namespace sluice::generate
