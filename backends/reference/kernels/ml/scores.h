// What becomes of the scores of classic models: transforms, and the label of the best class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

/// In the order of TreeEnsemble's numbers.
enum class ScoreTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

/// kNone for an unknown name.
ScoreTransform find_transform(std::string_view name);

/// Works in place. kSoftmaxZero keeps zeros. The probit is Winitzki's approximation
/// ("A handy approximation for the error function and its inverse", 2008), as converters expect.
void transform_scores(ScoreTransform transform, std::span<double> scores);

/// The score s of the second of two classes, which stands first, as both. Probabilities become
/// 1 - s and s, other scores -s and s, the logistic transform takes -s and s of both; the probit
/// leaves the second 0. Requires: two scores.
void complete_pair(ScoreTransform transform, bool is_probability, std::span<double> scores);

/// Place of the first largest; 0 for none.
std::size_t best_of(std::span<const double> scores);

/// Writes the labels of a classifier to its output.
class LabelWriter {
 public:
  /// `ints` and `texts` name two attributes, one of which is present.
  LabelWriter(const Call& call, std::string_view ints, std::string_view texts);

  std::size_t count() const { return ints_.empty() ? texts_.size() : ints_.size(); }
  /// Writes output 0: a label per row. Requires: classes below count().
  Status write(std::span<const std::size_t> classes) const;

 private:
  const Call& call_;
  std::span<const std::int64_t> ints_;
  std::vector<std::string_view> texts_;
};

/// Input 0 as rows of features.
struct FeatureRows {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;

  std::span<const double> row(std::int64_t index) const {
    return std::span(values).subspan(static_cast<std::size_t>(index * columns),
                                     static_cast<std::size_t>(columns));
  }
};

/// Rows of [rows, columns], or the single row of [columns]. Integers are rounded to f32 if
/// `as_floats`. Fails: SLUICE_INVALID_ARGUMENT for other ranks.
Status read_rows(const Call& call, FeatureRows* rows, bool as_floats = true);

}  // namespace sluice::reference
