// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "base/result.h"

namespace sluice::generate {

/// How tokens are chosen, in the order of transformers: repetition, temperature, top-k, top-p,
/// min-p, then a draw.
struct Sampling {
  float temperature = 0;         ///< 0: the token with the largest logit, the first of several
  std::int64_t top_k = 0;        ///< so many of the likeliest tokens remain; 0: all
  float top_p = 1;               ///< the likeliest tokens remain until they have this share
  float min_p = 0;               ///< tokens below this share of the likeliest one's go
  float repetition_penalty = 1;  ///< divides positive logits of tokens in the text, else multiplies
  std::uint64_t seed = 0;        ///< of the draws

  /// Fails: kInvalidArgument naming the setting and what it takes.
  Status check() const;
};

/// What a caller says of Sampling; what is absent the model's authors advise.
struct WantedSampling {
  std::optional<float> temperature = {};
  std::optional<std::int64_t> top_k = {};
  std::optional<float> top_p = {};
  std::optional<float> min_p = {};
  std::optional<float> repetition_penalty = {};
  std::optional<std::uint64_t> seed = {};

  /// `advice` but for what the caller says; without a seed from it, `other_seed`.
  Sampling over(Sampling advice, std::uint64_t other_seed) const;
};

/// Of one sequence: equal settings and logits give equal tokens. Used by one thread at a time.
class Sampler {
 public:
  /// Requires: `sampling.check()` succeeds.
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), random_(sampling.seed) {}

  /// The id of the next token. `seen` are the ids of the prompt and of the text so far; others than
  /// those of `logits` are ignored.
  /// Fails: kDataLoss where a logit is no number, or all are minus infinity.
  Result<std::int64_t> choose(std::span<const float> logits, std::span<const std::int64_t> seen);

 private:
  struct Candidate {
    float logit;
    std::int64_t id;
  };

  void penalize(std::span<const std::int64_t> seen);
  void sort_candidates();
  void weigh();
  void cut_tail();
  std::int64_t draw();

  Sampling sampling_;
  std::mt19937_64 random_;
  std::vector<float> logits_;
  std::vector<bool> is_seen_;          ///< for the penalty
  std::vector<Candidate> candidates_;  ///< the likeliest first once they are sorted
  std::vector<double> shares_;         ///< of the candidates; their sum is 1
};

}  // namespace sluice::generate
