// Generates a sequence of tokens, one after the other.
//
//     auto generator = Generator::create(model);
//     generator->start({.prompt = ids, .max_tokens = 100});
//     while (auto token = generator->next().value()) show(*token);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exec/loaded_model.h"
#include "generate/batch.h"
#include "generate/pages/page_pool.h"
#include "generate/ports.h"
#include "generate/sequence.h"

namespace sluice::generate {

/// One sequence at a time; what a new prompt shares with the former sequence is not computed again.
/// Used by one thread at a time.
class Generator {
 public:
  /// A context of a model that a recipe made (recipes/parts/decoder.h has the signature).
  /// Fails: kInvalidArgument for another model.
  static Result<Generator> create(const exec::LoadedModel& model);

  const Facts& facts() const { return sequence_.facts(); }
  std::int64_t vocabulary() const { return sequence_.vocabulary(); }
  /// Bytes of the cache.
  std::int64_t cache_bytes() const { return pages_.pool().size_bytes(); }

  /// Bytes that all runs so far copied, and bytes of keys and values that lie on a device.
  std::int64_t copied_bytes() const { return context_.copied_bytes(); }
  std::int64_t kept_bytes() const { return context_.kept_bytes(); }

  /// Computes nothing yet. Fails: as Sequence::start.
  Status start(Request request);

  /// The next token; nullopt at the end of the text, whose reason is `finish`. A token that ends
  /// the text is not given.
  /// Fails: kCancelled        the request's `is_stopped` said so; the sequence may go on
  ///        kFailedPrecondition before `start`
  Result<std::optional<std::int64_t>> next();
  Finish finish() const { return sequence_.finish(); }

  /// How likely the model finds each token behind the first, given those before it: natural
  /// logarithms of ids.size() - 1 probabilities. Takes the place of the sequence in the making.
  /// Fails: as Sequence::start.
  Result<std::vector<float>> score(std::vector<std::int64_t> ids);

  /// Logits of the last token, [vocabulary]; valid until the next call. Empty before the first.
  std::span<const float> logits() const { return logits_; }

 private:
  Generator(exec::Context context, Pages pages, const Ports& ports, Sequence sequence)
      : context_(std::move(context)),
        pages_(std::move(pages)),
        ports_(ports),
        batch_(ports, sequence.facts().context),
        sequence_(std::move(sequence)) {}

  Status run(const Sequence::Piece& piece);
  Status run_batch();
  std::span<const float> logits_of(std::int64_t row) const;

  exec::Context context_;
  Pages pages_;
  Ports ports_;
  Batch batch_;
  Sequence sequence_;
  std::span<const float> logits_;
};

}  // namespace sluice::generate
