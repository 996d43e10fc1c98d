// Chooses the next token from logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice::generate {

struct LogitBias {
  std::int64_t id = 0;
  float bias = 0;  ///< -100 to 100
};

/// How tokens are chosen. In this order, which is that of vLLM and llama.cpp: biases, repetition,
/// frequency and presence, what may come, temperature, top-k, top-p, min-p, then a draw.
///
/// With c(t), how often the text has the token t, prompt not counted:
///
///     logit(t) -= c(t) * frequency_penalty + (c(t) > 0 ? presence_penalty : 0)
///
/// Source: OpenAI, "Advanced usage: frequency and presence penalties", with its bounds.
struct Sampling {
  float temperature = 0;         ///< 0: the token with the largest logit, the first of several
  std::int64_t top_k = 0;        ///< so many of the likeliest tokens remain; 0: all
  float top_p = 1;               ///< the likeliest tokens remain until they have this share
  float min_p = 0;               ///< tokens below this share of the likeliest one's go
  float repetition_penalty = 1;  ///< divides positive logits of tokens in the text, else multiplies
  float presence_penalty = 0;    ///< -2 to 2
  float frequency_penalty = 0;   ///< -2 to 2
  std::vector<LogitBias> logit_bias = {};  ///< added to logits; at most kMaxBiases
  /// The last token of none of them follows the others of it in the text; at most kMaxBadWords.
  std::vector<std::vector<std::int64_t>> bad_words = {};
  std::uint64_t seed = 0;  ///< of the draws

  static constexpr std::size_t kMaxBiases = 1024;
  static constexpr std::size_t kMaxBadWords = 1024;

  /// Fails: kInvalidArgument naming the setting and what it takes.
  Status check() const;
  /// Fails: kInvalidArgument naming the setting and an id that no token of the vocabulary has.
  Status check_ids(std::int64_t vocabulary) const;
};

/// What a caller says of Sampling; what is absent the model's authors advise.
struct WantedSampling {
  std::optional<float> temperature = {};
  std::optional<std::int64_t> top_k = {};
  std::optional<float> top_p = {};
  std::optional<float> min_p = {};
  std::optional<float> repetition_penalty = {};
  std::optional<float> presence_penalty = {};
  std::optional<float> frequency_penalty = {};
  std::vector<LogitBias> logit_bias = {};
  std::vector<std::vector<std::int64_t>> bad_words = {};
  std::optional<std::uint64_t> seed = {};

  /// `advice` but for what the caller says; without a seed from it, `other_seed`.
  Sampling over(Sampling advice, std::uint64_t other_seed) const;
};

/// What stands before a token.
struct Past {
  std::span<const std::int64_t> prompt = {};
  std::span<const std::int64_t> text = {};
};

/// Samples one sequence: equal settings and logits give equal tokens. Used by one thread at a time.
class Sampler {
 public:
  /// Requires: `sampling.check()` succeeds.
  explicit Sampler(Sampling sampling) : sampling_(std::move(sampling)), random_(sampling_.seed) {}

  /// The id of the next token. Ignores ids in `past` that `logits` has not. `allowed`: bit id % 64
  /// of word id / 64 for tokens that may come; empty: all may.
  /// Fails: kDataLoss where a logit is no number, or all that are allowed are minus infinity;
  ///        kFailedPrecondition where bad words leave no token that is allowed.
  Result<std::int64_t> choose(std::span<const float> logits, const Past& past,
                              std::span<const std::uint64_t> allowed = {});

 private:
  struct Candidate {
    float logit;
    std::int64_t id;
  };

  bool has(std::int64_t id) const { return id >= 0 && id < std::ssize(logits_); }
  void penalize_repetition(const Past& past);
  void penalize_text(std::span<const std::int64_t> text);
  void hide_others(std::span<const std::uint64_t> allowed);
  bool hide_bad_words(std::span<const std::int64_t> text);
  void sort_candidates();
  void weigh();
  void cut_tail();
  std::int64_t draw();

  Sampling sampling_;
  std::mt19937_64 random_;
  std::vector<float> logits_;
  std::vector<bool> is_seen_;          ///< for the penalty of repetition
  std::vector<std::uint32_t> counts_;  ///< of tokens of the text; 0 between two calls
  std::vector<Candidate> candidates_;  ///< the likeliest first once they are sorted
  std::vector<double> shares_;         ///< of the candidates; their sum is 1
};

}  // namespace sluice::generate
