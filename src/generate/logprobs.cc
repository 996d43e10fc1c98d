#include "generate/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::generate {

Logprobs logprobs_of(std::span<const float> logits, std::int64_t token, std::size_t num_top) {
  // Less the largest, so that no power overflows.
  const float largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - largest));
  const double offset = largest + std::log(sum);
  const auto logprob_of = [&](std::int64_t id) {
    return static_cast<float>(logits[static_cast<std::size_t>(id)] - offset);
  };
  std::vector<std::int64_t> ids(num_top == 0 ? 0 : logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(num_top, ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), [&](std::int64_t a, std::int64_t b) {
    const float of_a = logits[static_cast<std::size_t>(a)];
    const float of_b = logits[static_cast<std::size_t>(b)];
    return of_a > of_b || (of_a == of_b && a < b);
  });
  Logprobs found = {logprob_of(token), {}};
  for (auto id = ids.begin(); id != end; ++id) found.top.push_back({*id, logprob_of(*id)});
  return found;
}

}  // namespace sluice::generate
