#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;

/// Whether axes that are absent mean all of them, and the elements are floats.
Status check_reduction(const ops::Lowering& op) {
  if (!ir::is_floating_point(op.element(0))) return unimplemented("no floats");
  if (op.int_of("noop_with_empty_axes") != 0) return unimplemented("maybe no axes");
  return ok_status();
}

Result<OperandId> reduced(ops::Lowering& op, std::string_view kind, OperandId x,
                          std::int64_t keeps) {
  return op.emit(kind, {x, op.input(1)}, {{"keepdims", keeps}});
}

}  // namespace

Status rewrite_reduce_log_sum(ops::Lowering& op) {
  SLUICE_TRY(check_reduction(op));
  const std::int64_t keeps = op.int_of("keepdims", 1);
  const OperandId sum = SLUICE_TRY(reduced(op, "ReduceSum", op.input(0), keeps));
  return op.finish("Log", {sum});
}

Status rewrite_reduce_log_sum_exp(ops::Lowering& op) {
  SLUICE_TRY(check_reduction(op));
  const bool keeps = op.int_of("keepdims", 1) != 0;
  // The reduction takes an empty list of axes for all of them, Squeeze for none.
  const ir::Constant* axes = op.has(1) ? op.find_constant(1) : nullptr;
  if (!keeps && (axes == nullptr || axes->data.size() == 0)) {
    return unimplemented("maybe a scalar");
  }
  // The largest is subtracted, but an infinity is not: inf - inf has no value.
  const OperandId most = SLUICE_TRY(reduced(op, "ReduceMax", op.input(0), 1));
  const OperandId is_infinite = SLUICE_TRY(op.emit("IsInf", {most}));
  const OperandId shift =
      SLUICE_TRY(op.emit("Where", {is_infinite, SLUICE_TRY(op.number(0)), most}));
  const OperandId shifted = SLUICE_TRY(op.emit("Sub", {op.input(0), shift}));
  const OperandId powers = SLUICE_TRY(op.emit("Exp", {shifted}));
  const OperandId sum = SLUICE_TRY(reduced(op, "ReduceSum", powers, 1));
  const OperandId log = SLUICE_TRY(op.emit("Log", {sum}));
  if (keeps) return op.finish("Add", {log, shift});
  const OperandId result = SLUICE_TRY(op.emit("Add", {log, shift}));
  return op.finish("Squeeze", {result, op.input(1)});
}

}  // namespace sluice::passes
