#include "reference/kernels/ml/scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

double logistic(double x) {
  // exp of a negative number alone, which cannot overflow.
  const double value = 1 / (1 + std::exp(-std::fabs(x)));
  return x < 0 ? 1 - value : value;
}

double probit(double x) {
  // The constant of Winitzki's approximation of the inverse error function.
  constexpr double kFit = 0.147;
  const double y = 2 * x - 1;
  const double log = std::log((1 - y) * (1 + y));
  const double half = 2 / (std::numbers::pi * kFit) + log / 2;
  const double value = std::sqrt(std::sqrt(half * half - log / kFit) - half);
  return std::numbers::sqrt2 * (y < 0 ? -value : value);
}

void softmax(std::span<double> scores, bool keeps_zeros) {
  constexpr double kZero = 1e-7;
  if (scores.empty()) return;
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) {
    // A score of about 0 stays about 0: it is scaled by exp(-largest) and no exponential of it.
    const bool is_zero = keeps_zeros && std::fabs(score) <= kZero;
    score = is_zero ? score * std::exp(-largest) : std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum;
}

}  // namespace

ScoreTransform find_transform(std::string_view name) {
  if (name == "SOFTMAX") return ScoreTransform::kSoftmax;
  if (name == "LOGISTIC") return ScoreTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return ScoreTransform::kSoftmaxZero;
  if (name == "PROBIT") return ScoreTransform::kProbit;
  return ScoreTransform::kNone;
}

void transform_scores(ScoreTransform transform, std::span<double> scores) {
  switch (transform) {
    case ScoreTransform::kNone: return;
    case ScoreTransform::kSoftmax: return softmax(scores, false);
    case ScoreTransform::kSoftmaxZero: return softmax(scores, true);
    case ScoreTransform::kLogistic:
      for (double& score : scores) score = logistic(score);
      return;
    case ScoreTransform::kProbit:
      for (double& score : scores) score = probit(score);
      return;
  }
}

void complete_pair(ScoreTransform transform, bool is_probability, std::span<double> scores) {
  scores[1] = 0;
  if (transform == ScoreTransform::kProbit) return transform_scores(transform, scores.first(1));
  const bool is_logistic = transform == ScoreTransform::kLogistic;
  scores[1] = scores[0];
  scores[0] = is_probability && !is_logistic ? 1 - scores[1] : -scores[1];
  if (is_logistic) transform_scores(transform, scores);
}

std::size_t best_of(std::span<const double> scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

LabelWriter::LabelWriter(const Call& call, std::string_view ints, std::string_view texts)
    : call_(call),
      ints_(call.attributes().get_ints(ints)),
      texts_(call.attributes().get_texts(texts)) {}

Status LabelWriter::write(std::span<const std::size_t> classes) const {
  if (ints_.empty()) return refuse_model(call_, "labels that are strings");
  const auto labels = call_.output_elements<std::int64_t>(0);
  if (call_.output(0).element_type != plugin::kI64 || labels.size() != classes.size()) {
    return refuse(call_, "the labels have another size");
  }
  const bool are_named = std::ranges::all_of(classes, [&](auto at) { return at < ints_.size(); });
  if (!are_named) return refuse_model(call_, "a class has no label");
  for (std::size_t i = 0; i < classes.size(); ++i) labels[i] = ints_[classes[i]];
  return plugin::ok();
}

Status read_rows(const Call& call, FeatureRows* rows, bool as_floats) {
  const Dims dims = input_dims(call, 0);
  if (dims.empty() || dims.size() > 2) return refuse(call, "X must have rank 1 or 2");
  rows->rows = dims.size() == 1 ? 1 : dims[0];
  rows->columns = dims.back();
  rows->values = read_doubles(call.input(0));
  if (rows->values.size() != index(size_of(dims))) return refuse_model(call, "X has no numbers");
  if (as_floats && !contains(kFloats, call.input(0).element_type)) {
    for (double& value : rows->values) value = static_cast<float>(value);
  }
  return plugin::ok();
}

}  // namespace sluice::reference
