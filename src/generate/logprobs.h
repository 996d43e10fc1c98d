// How likely the model found a token, and which ones it found likelier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::generate {

struct TokenLogprob {
  std::int64_t token = 0;
  float logprob = 0;  ///< natural logarithm of the probability
};

struct Logprobs {
  float chosen = 0;
  std::vector<TokenLogprob> top;  ///< the likeliest first, of equal ones the lower id
};

/// Logprobs of the model's own distribution, softmax(logits), whatever the sampling made of it.
/// `num_top`: at most so many of `top`. Requires: finite logits, or minus infinity for some;
/// 0 <= token < logits.size().
Logprobs logprobs_of(std::span<const float> logits, std::int64_t token, std::size_t num_top);

}  // namespace sluice::generate
