// Operators of ai.onnx.ml that a few of ONNX's operators compute. Their shape functions, which have
// run before, checked attributes and shapes.
#include "ops/ml/lowerings.h"

#include <cmath>

#include "ir/attribute.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

template <typename T>
std::vector<T> list_of(const Lowering& op, std::string_view name) {
  return op.operation().attributes.get_or<std::vector<T>>(name, {});
}

std::string text_of(const Lowering& op, std::string_view name) {
  return op.operation().attributes.get_or<std::string>(name, "");
}

OperandId floats(Lowering& op, const Floats& values, ir::Shape shape) {
  return op.constant(ir::make_f32_constant(values, std::move(shape)));
}
OperandId vector(Lowering& op, const Floats& values) {
  return floats(op, values, {static_cast<std::int64_t>(values.size())});
}
OperandId scalar(Lowering& op, float value) { return floats(op, {value}, {}); }

Result<OperandId> cast(Lowering& op, OperandId x, ir::ElementType element) {
  return op.emit("Cast", {x}, {{"to", static_cast<std::int64_t>(element)}});
}

Result<OperandId> as_f32(Lowering& op, std::size_t index) {
  if (op.element(index) == ir::ElementType::kF32) return op.input(index);
  return cast(op, op.input(index), ir::ElementType::kF32);
}

/// Features as a matrix of f32.
Result<OperandId> rows_of(Lowering& op, std::size_t index = 0) {
  const OperandId x = SLUICE_TRY(as_f32(op, index));
  if (SLUICE_TRY(op.rank(index)) == 2) return x;
  return op.emit("Reshape", {x, op.ints({1, -1})});
}

Status lower_scaler(Lowering& op) {
  const OperandId x = SLUICE_TRY(as_f32(op, 0));
  const OperandId centred =
      SLUICE_TRY(op.emit("Sub", {x, vector(op, list_of<float>(op, "offset"))}));
  return op.finish("Mul", {centred, vector(op, list_of<float>(op, "scale"))});
}

/// A row of norm 0 stays as it is.
Status lower_normalizer(Lowering& op) {
  const std::string norm = text_of(op, "norm");
  const std::string kind = norm == "L1" ? "ReduceL1" : norm == "L2" ? "ReduceL2" : "ReduceMax";
  const OperandId x = SLUICE_TRY(as_f32(op, 0));
  const OperandId size = SLUICE_TRY(op.emit(kind, {x, op.ints({-1})}));
  const OperandId is_zero = SLUICE_TRY(op.emit("Equal", {size, scalar(op, 0)}));
  return op.finish("Div", {x, SLUICE_TRY(op.emit("Where", {is_zero, scalar(op, 1), size}))});
}

Status lower_binarizer(Lowering& op) {
  const OperandId threshold = SLUICE_TRY(op.number(op.float_of("threshold")));
  const OperandId is_above = SLUICE_TRY(op.emit("Greater", {op.input(0), threshold}));
  return op.finish("Cast", {is_above}, {{"to", static_cast<std::int64_t>(op.element(0))}});
}

Status lower_imputer(Lowering& op) {
  const float replaced = op.float_of("replaced_value_float");
  OperandId is_missing;
  OperandId value;
  if (ir::is_integer(op.element(0))) {
    const OperandId wanted =
        op.constant(ir::make_i64_constant({op.int_of("replaced_value_int64")}, {}));
    const OperandId wide = SLUICE_TRY(cast(op, op.input(0), ir::ElementType::kI64));
    is_missing = SLUICE_TRY(op.emit("Equal", {wide, wanted}));
    value = op.ints(list_of<std::int64_t>(op, "imputed_value_int64s"));
  } else {
    value = vector(op, list_of<float>(op, "imputed_value_floats"));
    is_missing = std::isnan(replaced)
                     ? SLUICE_TRY(op.emit("IsNaN", {op.input(0)}))
                     : SLUICE_TRY(op.emit("Equal", {op.input(0), SLUICE_TRY(op.number(replaced))}));
  }
  value = SLUICE_TRY(cast(op, value, op.element(0)));
  return op.finish("Where", {is_missing, value, op.input(0)});
}

Status lower_extractor(Lowering& op) {
  OperandId x = op.input(0);
  if (SLUICE_TRY(op.rank(0)) == 1) x = SLUICE_TRY(op.emit("Reshape", {x, op.ints({1, -1})}));
  const OperandId columns = SLUICE_TRY(op.emit("Reshape", {op.input(1), op.ints({-1})}));
  return op.finish("Gather", {x, columns}, {{"axis", std::int64_t{-1}}});
}

Status lower_vectorizer(Lowering& op) {
  const Ints sizes = list_of<std::int64_t>(op, "inputdimensions");
  Lowering::Inputs parts;
  for (std::size_t i = 0; i < op.operation().inputs.size(); ++i) {
    parts.push_back(SLUICE_TRY(rows_of(op, i)));
    const auto shape = SLUICE_TRY(op.shape(i));
    if (!shape.back().is(sizes[i])) {
      return unimplemented("input {} has {} features; inputdimensions says {}", i,
                           shape.back().to_string(), sizes[i]);
    }
  }
  return op.finish("Concat", std::move(parts), {{"axis", std::int64_t{1}}});
}

// ---- categories ---------------------------------------------------------------------------------

Status refuse_texts(std::string_view what) {
  return unimplemented("{} that are strings are not supported yet; encode them before the model",
                       what);
}

/// [.., 1] compared with [entries]: which of the entries x is.
Result<OperandId> matches(Lowering& op, OperandId x, OperandId entries) {
  return op.emit("Equal", {SLUICE_TRY(op.emit("Unsqueeze", {x, op.ints({-1})})), entries});
}

Status lower_one_hot(Lowering& op) {
  const Ints categories = list_of<std::int64_t>(op, "cats_int64s");
  if (categories.empty()) return refuse_texts("categories");
  if (op.int_of("zeros", 1) == 0) return unimplemented("zeros = 0 is not supported; use 1");
  const OperandId x = SLUICE_TRY(cast(op, op.input(0), ir::ElementType::kI64));
  const OperandId found = SLUICE_TRY(matches(op, x, op.ints(categories)));
  return op.finish("Cast", {found}, {{"to", static_cast<std::int64_t>(ir::ElementType::kF32)}});
}

/// One side of a table; invalid where it is of strings.
OperandId side(Lowering& op, const std::string& prefix) {
  if (const auto* tensor = op.operation().attributes.find<ir::Constant>(prefix + "_tensor")) {
    return tensor->type.element() == ir::ElementType::kString ? OperandId() : op.constant(*tensor);
  }
  if (const Ints ints = list_of<std::int64_t>(op, prefix + "_int64s"); !ints.empty()) {
    return op.ints(ints);
  }
  const Floats given = list_of<float>(op, prefix + "_floats");
  return given.empty() ? OperandId() : vector(op, given);
}

Status lower_label_encoder(Lowering& op) {
  OperandId keys = side(op, "keys");
  OperandId values = side(op, "values");
  if (!keys.is_valid() || !values.is_valid()) return refuse_texts("labels");
  keys = SLUICE_TRY(op.emit("Reshape", {keys, op.ints({-1})}));
  values = SLUICE_TRY(op.emit("Reshape", {values, op.ints({-1})}));
  OperandId fallback;
  if (const auto* tensor = op.operation().attributes.find<ir::Constant>("default_tensor")) {
    fallback = SLUICE_TRY(op.emit("Reshape", {op.constant(*tensor), op.ints({1})}));
  } else if (!list_of<std::int64_t>(op, "values_int64s").empty()) {
    fallback = op.ints({op.int_of("default_int64", -1)});
  } else {
    fallback = vector(op, {op.float_of("default_float", -0.0F)});
    fallback = SLUICE_TRY(op.emit("CastLike", {fallback, values}));
  }
  const OperandId found = SLUICE_TRY(matches(op, op.input(0), keys));
  const OperandId number = SLUICE_TRY(cast(op, found, ir::ElementType::kI32));
  const OperandId place = SLUICE_TRY(
      op.emit("ArgMax", {number}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}}));
  const OperandId any =
      SLUICE_TRY(op.emit("ReduceMax", {number, op.ints({-1})}, {{"keepdims", std::int64_t{0}}}));
  const OperandId is_found = SLUICE_TRY(cast(op, any, ir::ElementType::kBool));
  return op.finish("Where", {is_found, SLUICE_TRY(op.emit("Gather", {values, place})), fallback});
}

// ---- linear models and support vectors ----------------------------------------------------------

/// Scores after `post_transform`, which leaves a single score alone: output `output`.
Status finish_scores(Lowering& op, OperandId scores, std::int64_t count, int output) {
  const std::string transform = text_of(op, "post_transform");
  const std::vector<int> outputs = {output};
  if (transform == "NONE" || (count == 1 && transform != "PROBIT")) {
    return op.finish("Identity", {scores}, {}, outputs);
  }
  if (transform == "LOGISTIC") return op.finish("Sigmoid", {scores}, {}, outputs);
  if (transform == "SOFTMAX") {
    return op.finish("Softmax", {scores}, {{"axis", std::int64_t{-1}}}, outputs);
  }
  return unimplemented("post_transform {} is not supported here", transform);
}

Result<OperandId> linear_scores(Lowering& op, std::int64_t results) {
  const Floats coefficients = list_of<float>(op, "coefficients");
  const auto columns = static_cast<std::int64_t>(coefficients.size()) / results;
  const Floats intercepts = list_of<float>(op, "intercepts");
  const OperandId bias = intercepts.empty() ? OperandId() : vector(op, intercepts);
  const OperandId x = SLUICE_TRY(rows_of(op));
  return op.emit("Gemm", {x, floats(op, coefficients, {results, columns}), bias},
                 {{"transB", std::int64_t{1}}});
}

Status lower_linear_regressor(Lowering& op) {
  const std::int64_t targets = op.int_of("targets", 1);
  return finish_scores(op, SLUICE_TRY(linear_scores(op, targets)), targets, 0);
}

/// One score for two classes: its sign decides, and the scores are 1 - s and s.
Status finish_pair(Lowering& op, OperandId score, const Ints& labels) {
  const OperandId flat = SLUICE_TRY(op.emit("Reshape", {score, op.ints({-1})}));
  const OperandId is_second = SLUICE_TRY(op.emit("Greater", {flat, scalar(op, 0)}));
  SLUICE_TRY(op.finish("Where", {is_second, op.ints({labels[1]}), op.ints({labels[0]})}));
  const bool is_logistic = text_of(op, "post_transform") == "LOGISTIC";
  const OperandId other =
      SLUICE_TRY(is_logistic ? op.emit("Neg", {score}) : op.emit("Sub", {scalar(op, 1), score}));
  const Lowering::Inputs both = {other, score};
  if (!is_logistic) return op.finish("Concat", both, {{"axis", std::int64_t{1}}}, {1});
  const OperandId joined = SLUICE_TRY(op.emit("Concat", both, {{"axis", std::int64_t{1}}}));
  return op.finish("Sigmoid", {joined}, {}, {1});
}

Status lower_linear_classifier(Lowering& op) {
  const Ints labels = list_of<std::int64_t>(op, "classlabels_ints");
  if (labels.empty()) return refuse_texts("labels");
  const auto count = static_cast<std::int64_t>(list_of<float>(op, "intercepts").size());
  const OperandId scores = SLUICE_TRY(linear_scores(op, count));
  if (count == 1 && labels.size() == 2) return finish_pair(op, scores, labels);
  const OperandId best = SLUICE_TRY(
      op.emit("ArgMax", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}}));
  SLUICE_TRY(op.finish("Gather", {op.ints(labels), best}));
  return finish_scores(op, scores, count, 1);
}

/// What the kernel function makes of each row and each of the vectors [vectors, columns].
Result<OperandId> kernel_values(Lowering& op, OperandId x, OperandId vectors) {
  const std::string kind = text_of(op, "kernel_type");
  Floats parameters = list_of<float>(op, "kernel_params");
  parameters.resize(3);
  const OperandId gamma = scalar(op, parameters[0]);
  if (kind == "RBF") {
    const OperandId a = SLUICE_TRY(op.emit("Unsqueeze", {x, op.ints({1})}));
    const OperandId difference = SLUICE_TRY(op.emit("Sub", {a, vectors}));
    const OperandId distance = SLUICE_TRY(
        op.emit("ReduceSumSquare", {difference, op.ints({2})}, {{"keepdims", std::int64_t{0}}}));
    const OperandId negative = scalar(op, -parameters[0]);
    return op.emit("Exp", {SLUICE_TRY(op.emit("Mul", {distance, negative}))});
  }
  const OperandId product =
      SLUICE_TRY(op.emit("Gemm", {x, vectors}, {{"transB", std::int64_t{1}}}));
  if (kind == "LINEAR") return product;
  const OperandId scaled = SLUICE_TRY(op.emit("Mul", {product, gamma}));
  const OperandId moved = SLUICE_TRY(op.emit("Add", {scaled, scalar(op, parameters[1])}));
  if (kind == "SIGMOID") return op.emit("Tanh", {moved});
  return op.emit("Pow", {moved, scalar(op, parameters[2])});
}

Status lower_svm_regressor(Lowering& op) {
  const Floats coefficients = list_of<float>(op, "coefficients");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  const std::int64_t vectors = op.int_of("n_supports");
  const OperandId x = SLUICE_TRY(rows_of(op));
  OperandId values = x;
  OperandId weights = floats(op, coefficients, {count, 1});
  if (vectors > 0) {
    const Floats all = list_of<float>(op, "support_vectors");
    const auto columns = static_cast<std::int64_t>(all.size()) / vectors;
    values = SLUICE_TRY(kernel_values(op, x, floats(op, all, {vectors, columns})));
  }
  const OperandId rho = vector(op, list_of<float>(op, "rho"));
  const OperandId sum = SLUICE_TRY(op.emit("Gemm", {values, weights, rho}));
  if (op.int_of("one_class") == 0) return finish_scores(op, sum, 1, 0);
  const OperandId is_inside = SLUICE_TRY(op.emit("Greater", {sum, scalar(op, 0)}));
  return op.finish("Where", {is_inside, scalar(op, 1), scalar(op, -1)});
}

}  // namespace

std::vector<std::pair<std::string_view, LowerFn>> ml_lowerings() {
  return {{"ArrayFeatureExtractor", lower_extractor},
          {"Binarizer", lower_binarizer},
          {"FeatureVectorizer", lower_vectorizer},
          {"Imputer", lower_imputer},
          {"LabelEncoder", lower_label_encoder},
          {"LinearClassifier", lower_linear_classifier},
          {"LinearRegressor", lower_linear_regressor},
          {"Normalizer", lower_normalizer},
          {"OneHotEncoder", lower_one_hot},
          {"SVMRegressor", lower_svm_regressor},
          {"Scaler", lower_scaler}};
}

}  // namespace sluice::ops
