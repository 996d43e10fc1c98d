#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::generate {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

Status check_range(const char* name, float value, float least, float most) {
  // The comparison refuses NaN, too.
  if (value >= least && value <= most) return ok_status();
  return invalid_argument("{} is {}; it takes {} to {}", name, value, least, most);
}

Status check_count(const char* name, std::size_t count, std::size_t most) {
  if (count <= most) return ok_status();
  return invalid_argument("{} has {} entries; it takes up to {}", name, count, most);
}

Status check_id(const char* name, std::int64_t id, std::int64_t vocabulary) {
  if (id >= 0 && id < vocabulary) return ok_status();
  return invalid_argument("{} has the id {}; the model has tokens 0 to {}", name, id,
                          vocabulary - 1);
}

}  // namespace

Status Sampling::check() const {
  SLUICE_TRY(check_range("temperature", temperature, 0, 100));
  SLUICE_TRY(check_range("top_p", top_p, 0, 1));
  SLUICE_TRY(check_range("min_p", min_p, 0, 1));
  SLUICE_TRY(check_range("repetition_penalty", repetition_penalty, 0.01F, 100));
  SLUICE_TRY(check_range("presence_penalty", presence_penalty, -2, 2));
  SLUICE_TRY(check_range("frequency_penalty", frequency_penalty, -2, 2));
  SLUICE_TRY(check_count("logit_bias", logit_bias.size(), kMaxBiases));
  for (const auto& [_, bias] : logit_bias) {
    SLUICE_TRY(check_range("logit_bias", bias, -100, 100));
  }
  SLUICE_TRY(check_count("bad_words", bad_words.size(), kMaxBadWords));
  if (std::ranges::any_of(bad_words, [](const auto& word) { return word.empty(); })) {
    return invalid_argument("bad_words has a word without tokens");
  }
  if (top_k >= 0) return ok_status();
  return invalid_argument("top_k is {}; it takes 0, for all tokens, or more", top_k);
}

Status Sampling::check_ids(std::int64_t vocabulary) const {
  for (const LogitBias& one : logit_bias) SLUICE_TRY(check_id("logit_bias", one.id, vocabulary));
  for (const auto& word : bad_words) {
    for (const std::int64_t id : word) SLUICE_TRY(check_id("bad_words", id, vocabulary));
  }
  return ok_status();
}

Sampling WantedSampling::over(Sampling advice, std::uint64_t other_seed) const {
  advice.temperature = temperature.value_or(advice.temperature);
  advice.top_k = top_k.value_or(advice.top_k);
  advice.top_p = top_p.value_or(advice.top_p);
  advice.min_p = min_p.value_or(advice.min_p);
  advice.repetition_penalty = repetition_penalty.value_or(advice.repetition_penalty);
  advice.presence_penalty = presence_penalty.value_or(advice.presence_penalty);
  advice.frequency_penalty = frequency_penalty.value_or(advice.frequency_penalty);
  // The package advises neither of them.
  advice.logit_bias = logit_bias;
  advice.bad_words = bad_words;
  // The package never advises a seed: all its users would get the same text.
  advice.seed = seed.value_or(other_seed);
  return advice;
}

Result<std::int64_t> Sampler::choose(std::span<const float> logits, const Past& past,
                                     std::span<const std::uint64_t> allowed) {
  // A copy: the logits lie in the run's memory, and penalties change them.
  logits_.assign(logits.begin(), logits.end());
  for (const auto& [id, bias] : sampling_.logit_bias) {
    if (has(id)) logits_[static_cast<std::size_t>(id)] += bias;
  }
  if (sampling_.repetition_penalty != 1) penalize_repetition(past);
  if (sampling_.presence_penalty != 0 || sampling_.frequency_penalty != 0) penalize_text(past.text);
  const bool has_nan = std::ranges::any_of(logits_, [](float x) { return std::isnan(x); });
  if (!allowed.empty()) hide_others(allowed);
  auto best = std::ranges::max_element(logits_);
  // -infinity hides a token, but one must be left. NaN compares as neither less nor greater, so a
  // maximum alone would miss it.
  if (has_nan || best == logits_.end() || !std::isfinite(*best)) {
    return make_error(Code::kDataLoss, "the model's logits are no finite numbers");
  }
  if (hide_bad_words(past.text)) {
    best = std::ranges::max_element(logits_);
    if (*best == kHidden) {
      return make_error(Code::kFailedPrecondition, "bad_words leave no token that may come");
    }
  }
  // Greedy: the first of equal maxima, whatever the seed.
  if (sampling_.temperature == 0) return best - logits_.begin();
  sort_candidates();
  weigh();
  cut_tail();
  return draw();
}

void Sampler::penalize_repetition(const Past& past) {
  const float penalty = sampling_.repetition_penalty;
  is_seen_.assign(logits_.size(), false);
  for (const auto tokens : {past.prompt, past.text}) {
    for (const std::int64_t id : tokens) {
      const auto place = static_cast<std::size_t>(id);
      if (!has(id) || is_seen_[place]) continue;
      is_seen_[place] = true;
      float& logit = logits_[place];
      // Both make a token less likely, as in CTRL's paper (Keskar and others, 2019). Each token
      // counts once.
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
  }
}

void Sampler::penalize_text(std::span<const std::int64_t> text) {
  counts_.resize(logits_.size());
  for (const std::int64_t id : text) {
    if (has(id)) ++counts_[static_cast<std::size_t>(id)];
  }
  for (const std::int64_t id : text) {
    const auto place = static_cast<std::size_t>(id);
    if (!has(id) || counts_[place] == 0) continue;
    logits_[place] -= static_cast<float>(counts_[place]) * sampling_.frequency_penalty +
                      sampling_.presence_penalty;
    counts_[place] = 0;
  }
}

void Sampler::hide_others(std::span<const std::uint64_t> allowed) {
  constexpr std::size_t kBits = 64;
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    const std::uint64_t word = i / kBits < allowed.size() ? allowed[i / kBits] : 0;
    if ((word >> (i % kBits) & 1U) == 0) logits_[i] = kHidden;
  }
}

/// Whether there are any whose last token would follow now.
bool Sampler::hide_bad_words(std::span<const std::int64_t> text) {
  bool has_hidden = false;
  for (const auto& word : sampling_.bad_words) {
    const auto begin = std::span(word).first(word.size() - 1);
    if (begin.size() > text.size() || !std::ranges::equal(begin, text.last(begin.size())) ||
        !has(word.back())) {
      continue;
    }
    logits_[static_cast<std::size_t>(word.back())] = kHidden;
    has_hidden = true;
  }
  return has_hidden;
}

/// The tokens that top-k leaves; of equal logits those of lower ids.
void Sampler::sort_candidates() {
  candidates_.clear();
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (logits_[i] == kHidden) continue;
    candidates_.push_back({logits_[i], static_cast<std::int64_t>(i)});
  }
  std::size_t kept = candidates_.size();
  if (sampling_.top_k > 0) kept = std::min(kept, static_cast<std::size_t>(sampling_.top_k));
  const auto is_likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  std::ranges::partial_sort(candidates_, candidates_.begin() + static_cast<std::ptrdiff_t>(kept),
                            is_likelier);
  candidates_.resize(kept);
}

void Sampler::weigh() {
  shares_.clear();
  double sum = 0;
  for (const Candidate& candidate : candidates_) {
    // The difference to the largest is at most 0, so no exponential overflows.
    const double above = static_cast<double>(candidate.logit) - candidates_.front().logit;
    sum += shares_.emplace_back(std::exp(above / sampling_.temperature));
  }
  for (double& share : shares_) share /= sum;
}

/// By top-p and min-p: the likeliest token always remains.
void Sampler::cut_tail() {
  double reached = 0;
  std::size_t kept = 0;
  while (kept < shares_.size()) {
    if (kept > 0 && (reached >= sampling_.top_p || shares_[kept] < sampling_.min_p * shares_[0])) {
      break;
    }
    reached += shares_[kept++];
  }
  shares_.resize(kept);
  for (double& share : shares_) share /= reached;
}

std::int64_t Sampler::draw() {
  // The standard's own distributions differ between libraries.
  const double drawn = static_cast<double>(random_() >> 11U) * 0x1p-53;
  double reached = 0;
  for (std::size_t i = 0; i + 1 < shares_.size(); ++i) {
    reached += shares_[i];
    if (drawn < reached) return candidates_[i].id;
  }
  return candidates_[shares_.size() - 1].id;
}

}  // namespace sluice::generate
