// LinearRegressor, LinearClassifier.
#include "ops/lowering/lower_operations.h"
#include "ops/ml/pieces.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using FloatVector = std::vector<float>;

Result<OperandId> linear_scores(Lowering& op, std::int64_t results) {
  const FloatVector coefficients = list_of<float>(op, "coefficients");
  const auto columns = static_cast<std::int64_t>(coefficients.size()) / results;
  const FloatVector intercepts = list_of<float>(op, "intercepts");
  const OperandId bias = intercepts.empty() ? OperandId() : vector(op, intercepts);
  const OperandId x = SLUICE_TRY(rows_of(op));
  return op.emit("Gemm", {x, floats(op, coefficients, {results, columns}), bias},
                 {{"transB", std::int64_t{1}}});
}

Status lower_linear_regressor(Lowering& op) {
  const std::int64_t targets = op.int_of("targets", 1);
  return finish_scores(op, SLUICE_TRY(linear_scores(op, targets)), targets, 0);
}

/// One score for two classes: its sign decides.
Status lower_pair(Lowering& op, OperandId score) {
  const OperandId flat = SLUICE_TRY(op.emit("Reshape", {score, op.ints({-1})}));
  SLUICE_TRY(finish_pair_labels(op, SLUICE_TRY(op.emit("Greater", {flat, scalar(op, 0)}))));
  return finish_pair_scores(op, score, true);
}

Status lower_linear_classifier(Lowering& op) {
  const auto count = static_cast<std::int64_t>(list_of<float>(op, "intercepts").size());
  const OperandId scores = SLUICE_TRY(linear_scores(op, count));
  if (count == 1 && count_labels(op) == 2) return lower_pair(op, scores);
  SLUICE_TRY(finish_labels(op, SLUICE_TRY(best_column(op, scores))));
  return finish_scores(op, scores, count, 1);
}

}  // namespace

NamedLowerings linear_lowerings() {
  return {{"LinearClassifier", lower_linear_classifier},
          {"LinearRegressor", lower_linear_regressor}};
}

}  // namespace sluice::ops
