#include "ops/rows/row_rule.h"

#include <algorithm>

namespace sluice::ops {

Status RowContext::others_have_none(std::initializer_list<std::size_t> except) const {
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (std::ranges::find(except, i) != except.end() || rows(i).is_none()) continue;
    return mixes("its input {} differs from row to row", i);
  }
  return ok_status();
}

Result<Rows> broadcast_rows(std::span<const RowOperand> operands, const ir::Shape& shape) {
  const auto fail = [](std::string_view why) {
    return Status(Code::kInvalidArgument, fmt::format("mixes rows: {}", why));
  };
  // The first loop finds the axis of the rows, which all inputs with rows must share. The second
  // sees that the other inputs have one value along it: with several, a row's result would depend
  // on its place.
  Rows result;
  for (const RowOperand& operand : operands) {
    if (operand.rows.kind == Rows::Kind::kCount) {
      return fail("it computes with the number of rows");
    }
    if (operand.shape == nullptr || operand.shape->size() > shape.size()) {
      return fail("the ranks of its inputs are unknown");
    }
    if (!operand.rows.is_rows()) continue;
    const std::size_t axis = shape.size() - operand.shape->size() + operand.rows.axis;
    if (result.is_rows() && result.axis != axis) {
      return fail("the inputs have their rows along different axes");
    }
    // A single row against many would give its value to all.
    if ((*operand.shape)[operand.rows.axis] != shape[axis]) {
      return fail("it broadcasts along the axis of rows");
    }
    result = Rows::at(axis);
  }
  if (!result.is_rows()) return result;
  for (const RowOperand& operand : operands) {
    const std::size_t missing = shape.size() - operand.shape->size();
    if (operand.rows.is_rows() || result.axis < missing) continue;
    if ((*operand.shape)[result.axis - missing].is(1)) continue;
    return fail("an input without rows has several values along their axis");
  }
  return result;
}

RowsResult elementwise_rows(const RowContext& context) {
  std::vector<RowOperand> operands;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.facts.has_input(i)) {
      operands.push_back({context.facts.shape(i), context.rows(i)});
    }
  }
  const ir::Shape* shape = context.output(0);
  if (shape == nullptr) return context.mixes("the shape of its result is unknown");
  return std::vector{SLUICE_TRY(broadcast_rows(operands, *shape))};
}

Result<std::size_t> axis_of(const RowContext& context, std::string_view name, std::size_t rank) {
  const auto axis = normalize_axis(context.facts.int_attribute(name), rank);
  if (!axis.is_ok()) return context.mixes("its {} is unknown", name);
  return static_cast<std::size_t>(*axis);
}

}  // namespace sluice::ops
