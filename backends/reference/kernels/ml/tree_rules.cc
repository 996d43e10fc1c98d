// From aggregated scores of trees to outputs. Where ONNX's text is silent, about weights for only
// one of two classes, this is what onnxruntime gives and converters count on.
#include "reference/kernels/ml/ensemble.h"

namespace sluice::reference {
namespace {

std::size_t finish_classes(const TreeRules& rules, std::span<double> scores,
                           std::span<const std::uint8_t> has_score) {
  const bool has_base = !rules.base_values.empty();
  std::size_t best = scores.size();  // the largest score that a leaf contributed to
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (has_base) scores[i] += rules.base_values[rules.base_values.size() == 1 ? 0 : i];
    if (!has_base && has_score[i] == 0) continue;
    if (best == scores.size() || scores[i] > scores[best]) best = i;
  }
  transform_scores(rules.transform, scores);
  return best == scores.size() ? 0 : best;
}

/// Weights name one of two classes: its score decides, and makes the other's where it is the first.
std::size_t finish_one_class(const TreeRules& rules, std::span<double> scores,
                             std::span<const std::uint8_t> has_score) {
  const bool is_second = has_score[1] != 0;
  double& score = scores[is_second ? 1 : 0];
  if (!rules.base_values.empty()) score += rules.base_values[0];
  const std::size_t best = score > (rules.is_probability ? 0.5 : 0) ? 1 : 0;
  if (is_second) {
    transform_scores(rules.transform, scores);
  } else {
    complete_pair(rules.transform, rules.is_probability, scores);
  }
  return best;
}

}  // namespace

std::size_t TreeRules::finish(std::span<double> scores,
                              std::span<const std::uint8_t> has_score) const {
  if (is_classifier) {
    return has_one_class && base_values.size() < 2 ? finish_one_class(*this, scores, has_score)
                                                   : finish_classes(*this, scores, has_score);
  }
  if (aggregate == TreeAggregate::kAverage) {
    for (double& score : scores) score /= static_cast<double>(num_trees);
  }
  for (std::size_t i = 0; i < scores.size() && !base_values.empty(); ++i) {
    scores[i] += base_values[base_values.size() == 1 ? 0 : i];
  }
  if (scores.size() > 1 || transform == ScoreTransform::kProbit) {
    transform_scores(transform, scores);
  }
  return 0;
}

}  // namespace sluice::reference
