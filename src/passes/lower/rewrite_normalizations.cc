#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

/// Folded over `axes`, which stay with length 1.
Result<OperandId> folded(ops::Lowering& op, std::string_view kind, OperandId x, const Ints& axes) {
  return op.emit(kind, {x, op.ints(axes)}, {{"keepdims", std::int64_t{1}}});
}

}  // namespace

Status rewrite_lp_normalization(ops::Lowering& op) {
  if (op.element(0) != ir::ElementType::kF32) return unimplemented("another type");
  const bool is_euclidean = op.int_of("p", 2) == 2;
  const Ints axis = {op.int_of("axis", -1)};
  const OperandId norm =
      SLUICE_TRY(folded(op, is_euclidean ? "ReduceL2" : "ReduceL1", op.input(0), axis));
  // A line of zeros stays as it is.
  const OperandId is_zero = SLUICE_TRY(op.emit("Equal", {norm, SLUICE_TRY(op.number(0))}));
  const OperandId divisor = SLUICE_TRY(op.emit("Where", {is_zero, SLUICE_TRY(op.number(1)), norm}));
  return op.finish("Div", {op.input(0), divisor});
}

Status rewrite_mean_variance_normalization(ops::Lowering& op) {
  constexpr float kEpsilon = 1e-9F;
  if (op.element(0) != ir::ElementType::kF32) return unimplemented("another type");
  const Ints axes = op.operation().attributes.get_or<Ints>("axes", {0, 2, 3});
  const OperandId mean = SLUICE_TRY(folded(op, "ReduceMean", op.input(0), axes));
  const OperandId centred = SLUICE_TRY(op.emit("Sub", {op.input(0), mean}));
  const OperandId squares = SLUICE_TRY(op.emit("Mul", {centred, centred}));
  const OperandId variance = SLUICE_TRY(folded(op, "ReduceMean", squares, axes));
  const OperandId deviation = SLUICE_TRY(op.emit("Sqrt", {variance}));
  const OperandId divisor =
      SLUICE_TRY(op.emit("Add", {deviation, SLUICE_TRY(op.number(kEpsilon))}));
  return op.finish("Div", {centred, divisor});
}

}  // namespace sluice::passes
