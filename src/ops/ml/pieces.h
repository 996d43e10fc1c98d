// What lowerings of ai.onnx.ml share: lists as constants, rows of features, scores and labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/lowering/lowering.h"

namespace sluice::ops {

/// A list attribute; empty where it is absent.
template <typename T>
std::vector<T> list_of(const Lowering& op, std::string_view name) {
  return op.operation().attributes.get_or<std::vector<T>>(name, {});
}

/// "" where it is absent.
std::string text_of(const Lowering& op, std::string_view name);

// Constants of f32.
ir::OperandId floats(Lowering& op, const std::vector<float>& values, ir::Shape shape);
ir::OperandId vector(Lowering& op, const std::vector<float>& values);
ir::OperandId scalar(Lowering& op, float value);
/// A constant vector of strings.
ir::OperandId texts(Lowering& op, const std::vector<std::string>& values);

/// Input `index`, cast where it is not f32.
Result<ir::OperandId> as_f32(Lowering& op, std::size_t index);
/// Features as a matrix of f32.
Result<ir::OperandId> rows_of(Lowering& op, std::size_t index = 0);

/// Output 0: the class labels at `places`, i64 [rows]. Attribute `classlabels_ints` or
/// `classlabels_strings` holds the labels; the shape function has checked that one is present.
Status finish_labels(Lowering& op, ir::OperandId places);

/// How many labels there are.
std::int64_t count_labels(const Lowering& op);

/// The place of the first largest score in each row: i64 [rows].
Result<ir::OperandId> best_column(Lowering& op, ir::OperandId scores);

/// As finish_labels for the label of the better of two classes: the second where `is_second`, bool
/// [rows].
Status finish_pair_labels(Lowering& op, ir::OperandId is_second);

/// Output `output`: scores [rows, count] after `post_transform`, which changes a single score only
/// for PROBIT.
Status finish_scores(Lowering& op, ir::OperandId scores, std::int64_t count, int output);

/// Output 1: one score [rows, 1] as those of two classes. LOGISTIC is taken of -s and s, PROBIT of
/// s, which stands first with 0 beside it; else they are 1 - s and s if `is_probability`, -s and s
/// if not. ONNX does not specify this; the result is onnxruntime's, which leaves uninitialized
/// memory in place of the 0.
Status finish_pair_scores(Lowering& op, ir::OperandId score, bool is_probability);

}  // namespace sluice::ops
