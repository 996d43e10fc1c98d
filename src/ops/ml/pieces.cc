#include "ops/ml/pieces.h"

#include <cstring>
#include <numbers>
#include <utility>

#include "ir/texts.h"

namespace sluice::ops {
namespace {

using ir::ElementType;
using ir::OperandId;

const Lowering::AttributeList kLastAxis = {{"axis", std::int64_t{-1}}};

OperandId f64(Lowering& op, double value) {
  std::vector<std::byte> data(sizeof value);
  std::memcpy(data.data(), &value, sizeof value);
  return op.constant(
      {ir::Type::tensor(ElementType::kF64, ir::Shape{}), Bytes::own(std::move(data))});
}

/// Winitzki's approximation ("A handy approximation for the error function and its inverse", 2008):
/// with y = 2x - 1, L = ln(1 - y^2), h = 2 / (pi * a) + L / 2, it is
/// sign(y) * sqrt(2) * sqrt(sqrt(h^2 - L / a) - h). In f64, because about x = 1/2 the last
/// difference has nothing left of an f32.
Result<OperandId> probit(Lowering& op, OperandId x) {
  constexpr double kFit = 0.147;
  const auto binary = [&](const char* kind, OperandId a, OperandId b) {
    return op.emit(kind, {a, b});
  };
  const OperandId one = f64(op, 1);
  const OperandId wide = SLUICE_TRY(op.cast(x, ElementType::kF64));
  const OperandId y = SLUICE_TRY(binary("Sub", SLUICE_TRY(binary("Add", wide, wide)), one));
  const OperandId rest = SLUICE_TRY(binary("Sub", one, y));
  const OperandId both = SLUICE_TRY(binary("Mul", rest, SLUICE_TRY(binary("Add", one, y))));
  const OperandId log = SLUICE_TRY(op.emit("Log", {both}));
  const OperandId half_log = SLUICE_TRY(binary("Mul", log, f64(op, 0.5)));
  const OperandId h = SLUICE_TRY(binary("Add", half_log, f64(op, 2 / (std::numbers::pi * kFit))));
  const OperandId square = SLUICE_TRY(binary("Mul", h, h));
  const OperandId fit = SLUICE_TRY(binary("Div", log, f64(op, kFit)));
  const OperandId inner = SLUICE_TRY(op.emit("Sqrt", {SLUICE_TRY(binary("Sub", square, fit))}));
  const OperandId size = SLUICE_TRY(op.emit("Sqrt", {SLUICE_TRY(binary("Sub", inner, h))}));
  const OperandId scaled = SLUICE_TRY(binary("Mul", size, f64(op, std::numbers::sqrt2)));
  const OperandId sign = SLUICE_TRY(op.emit("Sign", {y}));
  return op.cast(SLUICE_TRY(binary("Mul", scaled, sign)), ElementType::kF32);
}

/// Softmax over the nonzero scores; scores of 0 or nearly 0 stay unchanged.
Result<OperandId> softmax_zero(Lowering& op, OperandId x) {
  const OperandId largest = SLUICE_TRY(op.emit("ReduceMax", {x, op.ints({-1})}));
  // Subtracting the largest keeps `Exp` in range. Zeros are multiplied by the same factor.
  const OperandId size = SLUICE_TRY(op.emit("Abs", {x}));
  const OperandId is_zero = SLUICE_TRY(op.emit("LessOrEqual", {size, scalar(op, 1e-7F)}));
  const OperandId below = SLUICE_TRY(op.emit("Sub", {x, largest}));
  const OperandId weight = SLUICE_TRY(op.emit("Exp", {below}));
  const OperandId unit = SLUICE_TRY(op.emit("Exp", {SLUICE_TRY(op.emit("Neg", {largest}))}));
  const OperandId small = SLUICE_TRY(op.emit("Mul", {x, unit}));
  const OperandId kept = SLUICE_TRY(op.emit("Where", {is_zero, small, weight}));
  const OperandId sum = SLUICE_TRY(op.emit("ReduceSum", {kept, op.ints({-1})}));
  return op.emit("Div", {kept, sum});
}

Result<OperandId> transformed(Lowering& op, OperandId scores, const std::string& transform) {
  if (transform == "LOGISTIC") return op.emit("Sigmoid", {scores});
  if (transform == "SOFTMAX") return op.emit("Softmax", {scores}, kLastAxis);
  if (transform == "SOFTMAX_ZERO") return softmax_zero(op, scores);
  if (transform == "PROBIT") return probit(op, scores);
  return scores;
}

}  // namespace

std::string text_of(const Lowering& op, std::string_view name) {
  return op.operation().attributes.get_or<std::string>(name, "");
}

OperandId floats(Lowering& op, const std::vector<float>& values, ir::Shape shape) {
  return op.constant(ir::make_f32_constant(values, std::move(shape)));
}
OperandId vector(Lowering& op, const std::vector<float>& values) {
  return floats(op, values, {static_cast<std::int64_t>(values.size())});
}
OperandId scalar(Lowering& op, float value) { return floats(op, {value}, {}); }

OperandId texts(Lowering& op, const std::vector<std::string>& values) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  return op.constant(ir::make_text_constant(views, {static_cast<std::int64_t>(views.size())}));
}

Result<OperandId> as_f32(Lowering& op, std::size_t index) {
  if (op.element(index) == ElementType::kF32) return op.input(index);
  return op.cast(op.input(index), ElementType::kF32);
}

Result<OperandId> rows_of(Lowering& op, std::size_t index) {
  const OperandId x = SLUICE_TRY(as_f32(op, index));
  if (SLUICE_TRY(op.rank(index)) == 2) return x;
  return op.emit("Reshape", {x, op.ints({1, -1})});
}

Status finish_labels(Lowering& op, OperandId places) {
  const auto numbers = list_of<std::int64_t>(op, "classlabels_ints");
  const OperandId labels = numbers.empty()
                               ? texts(op, list_of<std::string>(op, "classlabels_strings"))
                               : op.ints(numbers);
  return op.finish("Gather", {labels, places});
}

std::int64_t count_labels(const Lowering& op) {
  return static_cast<std::int64_t>(list_of<std::int64_t>(op, "classlabels_ints").size() +
                                   list_of<std::string>(op, "classlabels_strings").size());
}

Result<OperandId> best_column(Lowering& op, OperandId scores) {
  return op.emit("ArgMax", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
}

Status finish_pair_labels(Lowering& op, OperandId is_second) {
  return finish_labels(op, SLUICE_TRY(op.cast(is_second, ElementType::kI64)));
}

Status finish_scores(Lowering& op, OperandId scores, std::int64_t count, int output) {
  std::string transform = text_of(op, "post_transform");
  if (count == 1 && transform != "PROBIT") transform = "NONE";
  return op.finish("Identity", {SLUICE_TRY(transformed(op, scores, transform))}, {}, {output});
}

Status finish_pair_scores(Lowering& op, OperandId score, bool is_probability) {
  const std::string transform = text_of(op, "post_transform");
  const bool is_logistic = transform == "LOGISTIC";
  Lowering::Inputs both;
  if (transform == "PROBIT") {
    const OperandId shape = SLUICE_TRY(op.emit("Shape", {score}));
    const OperandId zeros = SLUICE_TRY(op.emit("ConstantOfShape", {shape}));
    both = {SLUICE_TRY(probit(op, score)), zeros};
  } else if (is_probability && !is_logistic) {
    both = {SLUICE_TRY(op.emit("Sub", {scalar(op, 1), score})), score};
  } else {
    both = {SLUICE_TRY(op.emit("Neg", {score})), score};
  }
  const Lowering::AttributeList columns = {{"axis", std::int64_t{1}}};
  if (!is_logistic) return op.finish("Concat", both, columns, {1});
  const OperandId joined = SLUICE_TRY(op.emit("Concat", both, columns));
  return op.finish("Sigmoid", {joined}, {}, {1});
}

}  // namespace sluice::ops
