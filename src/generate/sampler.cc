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

}  // namespace

Status Sampling::check() const {
  SLUICE_TRY(check_range("temperature", temperature, 0, 100));
  SLUICE_TRY(check_range("top_p", top_p, 0, 1));
  SLUICE_TRY(check_range("min_p", min_p, 0, 1));
  SLUICE_TRY(check_range("repetition_penalty", repetition_penalty, 0.01F, 100));
  if (top_k >= 0) return ok_status();
  return invalid_argument("top_k is {}; it takes 0, for all tokens, or more", top_k);
}

Sampling WantedSampling::over(Sampling advice, std::uint64_t other_seed) const {
  advice.temperature = temperature.value_or(advice.temperature);
  advice.top_k = top_k.value_or(advice.top_k);
  advice.top_p = top_p.value_or(advice.top_p);
  advice.min_p = min_p.value_or(advice.min_p);
  advice.repetition_penalty = repetition_penalty.value_or(advice.repetition_penalty);
  advice.seed = seed.value_or(other_seed);
  return advice;
}

Result<std::int64_t> Sampler::choose(std::span<const float> logits,
                                     std::span<const std::int64_t> seen) {
  logits_.assign(logits.begin(), logits.end());
  if (sampling_.repetition_penalty != 1) penalize(seen);
  const bool has_nan = std::ranges::any_of(logits_, [](float x) { return std::isnan(x); });
  const auto best = std::ranges::max_element(logits_);
  if (has_nan || best == logits_.end() || !std::isfinite(*best)) {
    return make_error(Code::kDataLoss, "the model's logits are no finite numbers");
  }
  if (sampling_.temperature == 0) return best - logits_.begin();
  sort_candidates();
  weigh();
  cut_tail();
  return draw();
}

void Sampler::penalize(std::span<const std::int64_t> seen) {
  const float penalty = sampling_.repetition_penalty;
  is_seen_.assign(logits_.size(), false);
  for (const std::int64_t id : seen) {
    if (id < 0 || id >= static_cast<std::int64_t>(logits_.size())) continue;
    const auto place = static_cast<std::size_t>(id);
    if (is_seen_[place]) continue;
    is_seen_[place] = true;
    float& logit = logits_[place];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
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
