// Scaler, Normalizer, Binarizer, Imputer, ArrayFeatureExtractor, FeatureVectorizer.
#include <cmath>

#include "ops/lowering/lower_operations.h"
#include "ops/ml/pieces.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

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
  return op.finish_cast(is_above, op.element(0));
}

Status lower_imputer(Lowering& op) {
  const float replaced = op.float_of("replaced_value_float");
  OperandId is_missing;
  OperandId value;
  if (ir::is_integer(op.element(0))) {
    const OperandId wanted = op.integer(op.int_of("replaced_value_int64"));
    const OperandId wide = SLUICE_TRY(op.cast(op.input(0), ir::ElementType::kI64));
    is_missing = SLUICE_TRY(op.emit("Equal", {wide, wanted}));
    value = op.ints(list_of<std::int64_t>(op, "imputed_value_int64s"));
  } else {
    value = vector(op, list_of<float>(op, "imputed_value_floats"));
    is_missing = std::isnan(replaced)
                     ? SLUICE_TRY(op.emit("IsNaN", {op.input(0)}))
                     : SLUICE_TRY(op.emit("Equal", {op.input(0), SLUICE_TRY(op.number(replaced))}));
  }
  value = SLUICE_TRY(op.cast(value, op.element(0)));
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

}  // namespace

NamedLowerings feature_lowerings() {
  return {{"ArrayFeatureExtractor", lower_extractor}, {"Binarizer", lower_binarizer},
          {"FeatureVectorizer", lower_vectorizer},    {"Imputer", lower_imputer},
          {"Normalizer", lower_normalizer},           {"Scaler", lower_scaler}};
}

}  // namespace sluice::ops
