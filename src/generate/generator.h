// Generates a sequence of tokens, one after the other.
//
//     auto generator = Generator::create(model);
//     generator->start({.prompt = ids, .max_tokens = 100});
//     while (auto token = generator->next().value()) show(*token);
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "exec/loaded_model.h"
#include "generate/cache.h"
#include "generate/facts.h"
#include "generate/sampler.h"

namespace sluice::generate {

struct Request {
  std::vector<std::int64_t> prompt;  ///< ids, at least one
  Sampling sampling = {};
  std::optional<std::int64_t> max_tokens = {};  ///< after the prompt; absent: up to the context
  std::vector<std::int64_t> stops = {};         ///< ids that end the text besides the model's
  std::stop_token stop = {};                    ///< ends the generation between two steps
};

enum class Finish {
  kNone,     ///< it goes on
  kStop,     ///< a token that ends texts
  kTokens,   ///< max_tokens
  kContext,  ///< the sequence is as long as the model's context
};

/// One sequence at a time; what a new prompt shares with the former sequence is not computed again.
/// Used by one thread at a time.
class Generator {
 public:
  /// A context of a model that a recipe made (recipes/parts/decoder.h has the signature).
  /// Fails: kInvalidArgument for another model.
  static Result<Generator> create(const exec::LoadedModel& model);

  const Facts& facts() const { return facts_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  /// Bytes of the cache.
  std::int64_t cache_bytes() const { return cache_.size_bytes(); }

  /// Computes nothing yet.
  /// Fails: kInvalidArgument for an empty prompt, an id that is no token's, settings out of range;
  ///        kOutOfRange, naming both lengths, where prompt and max_tokens exceed the context.
  Status start(Request request);

  /// The next token; nullopt at the end of the text, whose reason is `finish`. A token that ends
  /// the text is not given.
  /// Fails: kCancelled        a stop was requested; the sequence may go on
  ///        kFailedPrecondition before `start`
  Result<std::optional<std::int64_t>> next();
  Finish finish() const { return finish_; }

  /// Logits of the last token, [vocabulary]; valid until the next call. Empty before the first.
  std::span<const float> logits() const { return logits_; }

 private:
  Generator(exec::Context context, Cache cache, Facts facts)
      : context_(std::move(context)), cache_(std::move(cache)), facts_(std::move(facts)) {}

  Status read_signature(const terms::Signature& signature);
  std::int64_t limit() const;
  Status advance();
  Status run(std::int64_t begin, std::int64_t end);
  bool is_stop(std::int64_t token) const;

  exec::Context context_;
  Cache cache_;
  Facts facts_;
  std::size_t ids_input_ = 0;
  std::size_t positions_input_ = 0;
  std::size_t logits_output_ = 0;
  std::int64_t vocabulary_ = 0;

  Request request_;
  Sampler sampler_{Sampling{}};
  std::vector<std::int64_t> tokens_;  ///< of the prompt and the text
  std::int64_t computed_ = 0;         ///< of them, those whose keys and values are in the cache
  std::vector<std::int64_t> positions_;
  std::span<const float> logits_;
  Finish finish_ = Finish::kNone;
};

}  // namespace sluice::generate
