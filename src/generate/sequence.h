// One text in the making: its tokens, those that a cache has, and the choice of the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/facts.h"
#include "generate/sampler.h"
#include "grammar/token_grammar.h"

namespace sluice::generate {

struct Request {
  std::vector<std::int64_t> prompt;  ///< ids, at least one
  Sampling sampling = {};
  std::optional<std::int64_t> max_tokens = {};  ///< after the prompt; absent: up to the context
  /// Logprobs to report: of each token, and of so many of the likeliest ones; absent: none.
  std::optional<std::int64_t> top_logprobs = {};
  std::vector<std::int64_t> stops = {};  ///< ids that end the text besides the model's
  /// Grammar that the text keeps to: it ends where the grammar may end, or as long as it may be.
  /// Null: none.
  std::shared_ptr<grammar::TokenGrammar> grammar = {};
  std::string adapter = {};  ///< of the model's that computes the text; empty: the model alone
  /// Asked before each run of the model, and by runs every few milliseconds, on their thread: true
  /// ends the generation. May be empty.
  std::function<bool()> is_stopped = {};
};

enum class Finish {
  kNone,       ///< it goes on
  kStop,       ///< a token that ends texts
  kTokens,     ///< max_tokens
  kContext,    ///< the sequence is as long as the model's context
  kCancelled,  ///< the request's `is_stopped` said so; of a TextGenerator
};

/// Computes nothing: whoever runs the model takes pieces and gives logits.
///
///     start --> next_piece, take_piece (until it is empty) --> choose --> next_piece ...
///                                                                |
///                                                                +--> nullopt: the end
///
/// Used by one thread at a time.
class Sequence {
 public:
  /// `vocabulary`: tokens of the model.
  Sequence(Facts facts, std::int64_t vocabulary)
      : facts_(std::move(facts)), vocabulary_(vocabulary) {}

  const Facts& facts() const { return facts_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  /// Number of the text's adapter; -1: none.
  std::int64_t adapter() const { return adapter_; }
  /// Tokens of the prompt and the text.
  std::span<const std::int64_t> tokens() const { return tokens_; }

  /// What the prompt shares with the former tokens is not computed again.
  /// Those of another adapter are not the same.
  /// Fails: kInvalidArgument for an empty prompt, an id that is no token's, settings out of range;
  ///        kNotFound for an adapter that the model lacks;
  ///        kOutOfRange, naming both lengths, where prompt and max_tokens exceed the context.
  Status start(Request request);

  /// Whether the text has ended; `finish` says why.
  bool is_full();

  /// Tokens that the cache lacks.
  std::int64_t num_missing() const { return std::ssize(tokens_) - computed_; }
  /// Tokens of a run of the model, and their places in the cache; valid until the next call.
  struct Piece {
    std::span<std::int64_t> ids;
    std::span<std::int64_t> positions;
    std::int64_t end = 0;       ///< the place behind the last one
    std::int64_t adapter = -1;  ///< of the text; -1: none
  };
  /// The first tokens that the cache lacks, at most `most`; none where `choose` comes next.
  /// Fails: as `check_stop`; kFailedPrecondition before `start`.
  Result<Piece> next_piece(std::int64_t most);
  /// For runs that ask meanwhile. Fails: kCancelled if the request says so.
  Status check_stop() const;
  /// The cache has all tokens up to the end of the piece.
  void take_piece(const Piece& piece) { computed_ = piece.end; }
  /// The cache has the first `count` tokens and no others. Requires: there are more.
  void set_computed(std::int64_t count) { computed_ = count; }

  /// The next token; nullopt where the model ends the text, or its grammar does.
  /// `logits`: of the last token, [vocabulary]. Fails: as Sampler::choose and Matcher::mask;
  ///           kFailedPrecondition where no token of the vocabulary goes on with the grammar.
  Result<std::optional<std::int64_t>> choose(std::span<const float> logits);
  Finish finish() const { return finish_; }

 private:
  std::int64_t limit() const;
  bool is_stop(std::int64_t token) const;
  Result<bool> allow_tokens();

  Facts facts_;
  std::int64_t vocabulary_;
  Request request_;
  Sampler sampler_{Sampling{}};
  std::optional<grammar::Matcher> matcher_;  ///< of a request with a grammar
  std::vector<std::uint64_t> allowed_;       ///< tokens that may come; empty without a grammar
  std::vector<std::int64_t> tokens_;
  std::vector<std::int64_t> positions_;
  std::int64_t computed_ = 0;  ///< of the tokens, those whose keys and values are in the cache
  std::int64_t adapter_ = -1;
  Finish finish_ = Finish::kNone;
};

}  // namespace sluice::generate
