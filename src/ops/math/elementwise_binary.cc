// Two inputs, broadcast against each other: arithmetic, bits, logic, comparison.
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

using Operands = std::span<const ir::Dim>;
using MaybeDim = std::optional<ir::Dim>;

bool both_known(Operands x) { return x[0].is_known() && x[1].is_known(); }

MaybeDim sum(Operands x) { return x[0] + x[1]; }
MaybeDim difference(Operands x) { return x[0] - x[1]; }
MaybeDim product_of_two(Operands x) { return x[0] * x[1]; }

/// ONNX truncates towards zero, Dim rounds down: equal for non-negative quotients.
MaybeDim quotient(Operands x) {
  if (both_known(x)) {
    const bool is_negative = (x[0].value() < 0) != (x[1].value() < 0);
    // floor_div rounds down and ceil_div up: the one that rounds towards zero is taken.
    return is_negative ? ceil_div(x[0], x[1]) : floor_div(x[0], x[1]);
  }
  if (!is_never_negative(x[0]) || !is_never_negative(x[1])) return std::nullopt;
  return floor_div(x[0], x[1]);
}

/// With the sign of the divisor, as floor_div rounds down: fmod = 0.
MaybeDim remainder(Operands x) {
  const ir::Dim down = floor_div(x[0], x[1]);
  if (down.is_overflow()) return std::nullopt;
  return x[0] - down * x[1];
}

/// The remainder of a division that is cut towards zero: fmod = 1.
MaybeDim cut_remainder(Operands x) {
  const MaybeDim whole = quotient(x);
  if (!whole || whole->is_overflow()) return std::nullopt;
  return x[0] - *whole * x[1];
}

/// Decides comparisons that hold for all sizes: equal expressions are equal, and no size is -1.
MaybeDim is_equal(Operands x) {
  if (x[0] == x[1]) return 1;
  if (both_known(x)) return 0;
  const bool differ = (is_never_negative(x[0]) && x[1].is_known() && x[1].value() < 0) ||
                      (is_never_negative(x[1]) && x[0].is_known() && x[0].value() < 0);
  return differ ? MaybeDim(0) : std::nullopt;
}

/// Symbols are not compared: sizes are known only at the run.
MaybeDim is_less(Operands x) {
  return both_known(x) ? MaybeDim(x[0].value() < x[1].value() ? 1 : 0) : std::nullopt;
}
MaybeDim is_greater(Operands x) {
  return both_known(x) ? MaybeDim(x[0].value() > x[1].value() ? 1 : 0) : std::nullopt;
}

template <ElementFn kFunction>
Status infer_arithmetic(InferenceContext& context) {
  SLUICE_TRY(infer_broadcast(context));
  map_values(context, kFunction);
  return ok_status();
}

Status infer_mod(InferenceContext& context) {
  SLUICE_TRY(infer_broadcast(context));
  map_values(context, context.int_attribute("fmod") != 0 ? cut_remainder : remainder);
  return ok_status();
}

template <ElementFn kFunction>
Status infer_comparison(InferenceContext& context) {
  SLUICE_TRY(infer_broadcast_bool(context));
  map_values(context, kFunction);
  return ok_status();
}

OpSchema binary(std::string_view name, std::vector<int> versions, TypeSet types,
                std::string_view doc, InferFn infer = infer_broadcast,
                std::vector<AttributeSpec> attributes = {}) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "A", .types = types, .variable = "T"},
                     {.name = "B", .types = types, .variable = "T"}},
          .outputs = {{.name = "C", .types = types, .variable = "T"}},
          .attributes = std::move(attributes),
          .infer = infer,
          .traits = kElementwise,
          .upgrade = upgrade_broadcast};
}

OpSchema comparison(std::string_view name, std::vector<int> versions, TypeSet types,
                    std::string_view doc, InferFn infer = infer_broadcast_bool) {
  OpSchema schema = binary(name, std::move(versions), types, doc, infer);
  schema.outputs = {{.name = "C", .types = kBools}};
  return schema;
}

OpSchema power() {
  OpSchema schema = binary("Pow", {1, 7, 12, 13, 15}, kNumbers, "A to the power of B");
  schema.inputs[1].variable = "T1";
  return schema;
}

}  // namespace

std::vector<OpSchema> elementwise_binary_ops() {
  return {
      binary("Add", {6, 7, 13, 14}, kNumbers, "A + B", infer_arithmetic<sum>),
      binary("And", {1, 7}, kBools, "A and B"),
      binary("BitShift", {11, 28}, kInts, "A shifted by B bits", infer_broadcast,
             {{.name = "direction", .default_value = std::string(), .is_required = true}}),
      binary("BitwiseAnd", {18}, kInts, "bitwise and"),
      binary("BitwiseOr", {18}, kInts, "bitwise or"),
      binary("BitwiseXor", {18}, kInts, "bitwise exclusive or"),
      binary("Div", {6, 7, 13, 14}, kNumbers, "A / B; integers cut towards zero",
             infer_arithmetic<quotient>),
      comparison("Equal", {1, 7, 11, 13, 19}, kNumbers | kBools | kStrings, "A == B",
                 infer_comparison<is_equal>),
      comparison("Greater", {1, 7, 9, 13}, kNumbers, "A > B", infer_comparison<is_greater>),
      comparison("GreaterOrEqual", {12, 16}, kNumbers, "A >= B"),
      comparison("Less", {1, 7, 9, 13}, kNumbers, "A < B", infer_comparison<is_less>),
      comparison("LessOrEqual", {12, 16}, kNumbers, "A <= B"),
      binary("Mod", {10, 13, 28}, kNumbers, "remainder with B's sign, or A's if fmod = 1",
             infer_mod, {{.name = "fmod", .default_value = std::int64_t{0}}}),
      binary("Mul", {6, 7, 13, 14}, kNumbers, "A * B", infer_arithmetic<product_of_two>),
      binary("Or", {1, 7}, kBools, "A or B"),
      power(),
      binary("Sub", {6, 7, 13, 14}, kNumbers, "A - B", infer_arithmetic<difference>),
      binary("Xor", {1, 7}, kBools, "A exclusive or B"),
  };
}

}  // namespace sluice::ops
