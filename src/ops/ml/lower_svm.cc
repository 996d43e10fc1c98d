// SVMRegressor, SVMClassifier. A classifier has a machine per pair of classes, as libsvm trains
// them: Chang, Lin, "LIBSVM: a library for support vector machines", 2011, section 7.
#include <algorithm>

#include "ops/lowering/lower_operations.h"
#include "ops/ml/pieces.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using FloatVector = std::vector<float>;
using Ints = std::vector<std::int64_t>;

/// What the kernel function makes of each row and each of the vectors [vectors, columns].
Result<OperandId> kernel_values(Lowering& op, OperandId x, std::int64_t vectors) {
  const FloatVector all = list_of<float>(op, "support_vectors");
  const auto columns = static_cast<std::int64_t>(all.size()) / vectors;
  const OperandId rows = floats(op, all, {vectors, columns});
  const std::string kind = text_of(op, "kernel_type");
  FloatVector parameters = list_of<float>(op, "kernel_params");
  parameters.resize(3);
  if (kind == "RBF") {
    const OperandId distances = SLUICE_TRY(op.emit("SquaredDistances", {x, rows}, {}, "sluice"));
    const OperandId negative = scalar(op, -parameters[0]);
    return op.emit("Exp", {SLUICE_TRY(op.emit("Mul", {distances, negative}))});
  }
  const OperandId product = SLUICE_TRY(op.emit("Gemm", {x, rows}, {{"transB", std::int64_t{1}}}));
  if (kind == "LINEAR") return product;
  const OperandId scaled = SLUICE_TRY(op.emit("Mul", {product, scalar(op, parameters[0])}));
  const OperandId moved = SLUICE_TRY(op.emit("Add", {scaled, scalar(op, parameters[1])}));
  if (kind == "SIGMOID") return op.emit("Tanh", {moved});
  return op.emit("Pow", {moved, scalar(op, parameters[2])});
}

/// A single score stays as it is whatever `post_transform` says: so it is in onnxruntime and in
/// ONNX's reference evaluator.
Status lower_svm_regressor(Lowering& op) {
  const FloatVector coefficients = list_of<float>(op, "coefficients");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  const std::int64_t vectors = op.int_of("n_supports");
  OperandId values = SLUICE_TRY(rows_of(op));
  if (vectors > 0) values = SLUICE_TRY(kernel_values(op, values, vectors));
  const OperandId weights = floats(op, coefficients, {count, 1});
  const OperandId rho = vector(op, list_of<float>(op, "rho"));
  if (op.int_of("one_class") == 0) return op.finish("Gemm", {values, weights, rho});
  const OperandId sum = SLUICE_TRY(op.emit("Gemm", {values, weights, rho}));
  const OperandId is_inside = SLUICE_TRY(op.emit("Greater", {sum, scalar(op, 0)}));
  return op.finish("Where", {is_inside, scalar(op, 1), scalar(op, -1)});
}

// ---- classifier ---------------------------------------------------------------------------------

/// Classes and their support vectors, which stand class after class.
struct Machines {
  std::int64_t classes = 0, vectors = 0;
  Ints first;  ///< [classes + 1], of each class's vectors

  std::int64_t pairs() const { return classes * (classes - 1) / 2; }

  /// Calls `visit(pair, i, j)` for all pairs of classes i < j, in order.
  template <typename Visit>
  void for_each_pair(const Visit& visit) const {
    std::int64_t pair = 0;
    for (std::int64_t i = 0; i < classes; ++i) {
      for (std::int64_t j = i + 1; j < classes; ++j) visit(pair++, i, j);
    }
  }
};

Machines machines_of(const Lowering& op) {
  Machines machines;
  machines.classes = count_labels(op);
  machines.first.push_back(0);
  for (const std::int64_t count : list_of<std::int64_t>(op, "vectors_per_class")) {
    machines.first.push_back(machines.first.back() + count);
  }
  machines.vectors = machines.first.back();
  return machines;
}

/// A matrix written by row and column.
struct Matrix {
  std::int64_t rows, columns;
  FloatVector values = FloatVector(static_cast<std::size_t>(rows * columns));

  float& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// The pairs' decision values from kernel values: [rows, pairs]. The coefficients are [classes - 1,
/// vectors]: a vector of class i has in row j - 1 that of the pair (i, j), in row j that of (j, i).
Result<OperandId> decisions(Lowering& op, const Machines& machines, OperandId values) {
  const FloatVector coefficients = list_of<float>(op, "coefficients");
  const auto coefficient = [&](std::int64_t row, std::int64_t vector) {
    return coefficients[static_cast<std::size_t>(row * machines.vectors + vector)];
  };
  const auto first = [&](std::int64_t i) { return machines.first[static_cast<std::size_t>(i)]; };
  Matrix weights = {machines.vectors, machines.pairs()};
  machines.for_each_pair([&](std::int64_t pair, std::int64_t i, std::int64_t j) {
    for (std::int64_t v = first(i); v < first(i + 1); ++v)
      weights.at(v, pair) = coefficient(j - 1, v);
    for (std::int64_t v = first(j); v < first(j + 1); ++v) weights.at(v, pair) = coefficient(i, v);
  });
  return op.emit("Gemm", {values, floats(op, weights.values, {weights.rows, weights.columns}),
                          vector(op, list_of<float>(op, "rho"))});
}

/// A pair's machine votes for the first of its classes where its value is positive, else for the
/// second. Each class's votes [rows, classes]: those of the second ones, moved to the first.
Result<OperandId> votes(Lowering& op, const Machines& machines, OperandId values) {
  Matrix moved = {machines.pairs(), machines.classes};
  FloatVector start(static_cast<std::size_t>(machines.classes));
  machines.for_each_pair([&](std::int64_t pair, std::int64_t i, std::int64_t j) {
    moved.at(pair, i) = 1;
    moved.at(pair, j) = -1;
    start[static_cast<std::size_t>(j)] += 1;
  });
  const OperandId is_first = SLUICE_TRY(op.emit("Greater", {values, scalar(op, 0)}));
  const OperandId number = SLUICE_TRY(op.cast(is_first, ir::ElementType::kF32));
  return op.emit(
      "Gemm", {number, floats(op, moved.values, {moved.rows, moved.columns}), vector(op, start)});
}

/// Platt's sigmoid of each pair, then the classes' probabilities that fit them best.
Result<OperandId> probabilities(Lowering& op, OperandId values) {
  const OperandId scaled =
      SLUICE_TRY(op.emit("Mul", {values, vector(op, list_of<float>(op, "prob_a"))}));
  const OperandId moved =
      SLUICE_TRY(op.emit("Add", {scaled, vector(op, list_of<float>(op, "prob_b"))}));
  const OperandId pairs = SLUICE_TRY(op.emit("Sigmoid", {SLUICE_TRY(op.emit("Neg", {moved}))}));
  return op.emit("CouplePairs", {pairs}, {{"classes", count_labels(op)}}, "sluice");
}

/// Without support vectors: a row of coefficients per class, and the largest score wins.
Status lower_linear_machines(Lowering& op, std::int64_t classes) {
  const FloatVector coefficients = list_of<float>(op, "coefficients");
  const auto columns = static_cast<std::int64_t>(coefficients.size()) / classes;
  const OperandId scores =
      SLUICE_TRY(op.emit("Gemm",
                         {SLUICE_TRY(rows_of(op)), floats(op, coefficients, {classes, columns}),
                          vector(op, list_of<float>(op, "rho"))},
                         {{"transB", std::int64_t{1}}}));
  SLUICE_TRY(finish_labels(op, SLUICE_TRY(best_column(op, scores))));
  return finish_scores(op, scores, classes, 1);
}

Status lower_svm_classifier(Lowering& op) {
  const Machines machines = machines_of(op);
  if (machines.vectors == 0) return lower_linear_machines(op, machines.classes);
  constexpr std::int64_t kMaxWeights = std::int64_t{1} << 28;
  if (machines.pairs() > kMaxWeights / std::max(machines.vectors, machines.classes)) {
    return unimplemented("{} support vectors of {} classes are too many", machines.vectors,
                         machines.classes);
  }
  const OperandId x = SLUICE_TRY(rows_of(op));
  const OperandId kernels = SLUICE_TRY(kernel_values(op, x, machines.vectors));
  const OperandId values = SLUICE_TRY(decisions(op, machines, kernels));
  const OperandId counts = SLUICE_TRY(votes(op, machines, values));
  SLUICE_TRY(finish_labels(op, SLUICE_TRY(best_column(op, counts))));
  if (!list_of<float>(op, "prob_a").empty()) {
    return finish_scores(op, SLUICE_TRY(probabilities(op, values)), machines.classes, 1);
  }
  if (machines.classes > 2) return finish_scores(op, values, machines.pairs(), 1);
  return finish_pair_scores(op, values, text_of(op, "post_transform") != "NONE");
}

}  // namespace

NamedLowerings svm_lowerings() {
  return {{"SVMClassifier", lower_svm_classifier}, {"SVMRegressor", lower_svm_regressor}};
}

}  // namespace sluice::ops
