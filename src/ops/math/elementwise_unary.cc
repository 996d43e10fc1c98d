// One input, one output of the same shape, no attributes that change more than a constant.
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

using Operands = std::span<const ir::Dim>;

std::optional<ir::Dim> negated(Operands x) { return ir::Dim(0) - x[0]; }

std::optional<ir::Dim> absolute(Operands x) {
  if (is_never_negative(x[0])) return x[0];
  if (x[0].is_known()) return ir::Dim(0) - x[0];
  return std::nullopt;
}

template <ElementFn kFunction>
Status infer_with_values(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  map_values(context, kFunction);
  return ok_status();
}

Status infer_predicate(InferenceContext& context) {
  set_like_input(context, ir::ElementType::kBool);
  return ok_status();
}

OpSchema unary(std::string_view name, std::vector<int> versions, TypeSet types,
               std::string_view doc, InferFn infer = infer_same_as_input) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "X", .types = types, .variable = "T"}},
          .outputs = {{.name = "Y", .types = types, .variable = "T"}},
          .infer = infer,
          .traits = kElementwise};
}

OpSchema predicate(std::string_view name, std::vector<int> versions, std::string_view doc,
                   std::vector<AttributeSpec> attributes = {}) {
  OpSchema schema =
      unary(name, std::move(versions), kFloats | kEightBitFloats, doc, infer_predicate);
  schema.outputs = {{.name = "Y", .types = kBools}};
  schema.attributes = std::move(attributes);
  return schema;
}

}  // namespace

std::vector<OpSchema> elementwise_unary_ops() {
  return {
      unary("Abs", {6, 13}, kNumbers, "|x|", infer_with_values<absolute>),
      unary("Acos", {7, 22}, kFloats, "arc cosine"),
      unary("Acosh", {9, 22}, kFloats, "inverse hyperbolic cosine"),
      unary("Asin", {7, 22}, kFloats, "arc sine"),
      unary("Asinh", {9, 22}, kFloats, "inverse hyperbolic sine"),
      unary("Atan", {7, 22}, kFloats, "arc tangent"),
      unary("Atanh", {9, 22}, kFloats, "inverse hyperbolic tangent"),
      unary("BitwiseNot", {18}, kInts, "every bit flipped"),
      unary("Ceil", {6, 13}, kFloats, "rounded up"),
      unary("Cos", {7, 22}, kFloats, "cosine"),
      unary("Cosh", {9, 22}, kFloats, "hyperbolic cosine"),
      unary("Erf", {9, 13}, kNumbers, "Gauss error function"),
      unary("Exp", {6, 13}, kFloats, "e to the power of x"),
      unary("Floor", {6, 13}, kFloats, "rounded down"),
      predicate("IsInf", {10, 20}, "whether x is infinite, for the selected signs",
                {{.name = "detect_negative", .default_value = std::int64_t{1}},
                 {.name = "detect_positive", .default_value = std::int64_t{1}}}),
      predicate("IsNaN", {9, 13, 20}, "whether x is not a number"),
      unary("Log", {6, 13}, kFloats, "natural logarithm"),
      unary("Neg", {6, 13}, kFloats | kSignedInts, "-x", infer_with_values<negated>),
      unary("Not", {1}, kBools, "logical negation"),
      unary("Reciprocal", {6, 13}, kFloats, "1 / x"),
      unary("Round", {11, 22}, kFloats, "rounded to nearest, ties to even"),
      unary("Sign", {9, 13}, kNumbers, "-1, 0 or 1"),
      unary("Sin", {7, 22}, kFloats, "sine"),
      unary("Sinh", {9, 22}, kFloats, "hyperbolic sine"),
      unary("Sqrt", {6, 13}, kFloats, "square root"),
      unary("Tan", {7, 22}, kFloats, "tangent"),
      unary("Tanh", {6, 13}, kFloats, "hyperbolic tangent"),
  };
}

}  // namespace sluice::ops
