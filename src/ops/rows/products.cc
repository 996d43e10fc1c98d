// Products of matrices.
#include <algorithm>

#include "ops/rows/row_rule.h"

namespace sluice::ops {
namespace {

bool is_one_number(const RowContext& context, std::size_t input) {
  const ir::Shape* shape = context.facts.shape(input);
  return !context.facts.has_input(input) ||
         (shape != nullptr && (shape->empty() || (shape->size() == 1 && shape->front().is(1))));
}

/// Inputs `a` and `b` are multiplied as by MatMul. Stacks of matrices are broadcast; rows of A may
/// be rows of its matrices, and rows of B columns of its own.
RowsResult product_of(const RowContext& context, std::size_t a, std::size_t b) {
  const ir::Shape* left = context.facts.shape(a);
  const ir::Shape* right = context.facts.shape(b);
  const ir::Shape* result = context.output(0);
  if (left == nullptr || right == nullptr || result == nullptr) {
    return context.mixes("the ranks of its inputs are unknown");
  }
  const auto sums_rows = [&] { return context.mixes("it sums along the axis of rows"); };
  const Rows of_left = context.rows(a);
  const Rows of_right = context.rows(b);
  if (of_left.is_rows() && of_left.axis + 1 == left->size()) return sums_rows();
  if (of_right.is_rows() &&
      of_right.axis + std::min<std::size_t>(2, right->size()) == right->size()) {
    return sums_rows();
  }
  // The axes of matrices meet no axis of the other input.
  if (of_left.is_rows() && of_left.axis + 2 == left->size() && of_right.is_none()) {
    return std::vector{Rows::at(result->size() - (right->size() == 1 ? 1 : 2))};
  }
  if (of_right.is_rows() && of_right.axis + 1 == right->size() && of_left.is_none()) {
    return std::vector{Rows::at(result->size() - 1)};
  }
  // Axes of stacks are broadcast; the matrices' axes do not count.
  const auto stack_of = [](const ir::Shape& shape) {
    return ir::Shape(shape.begin(), shape.end() - std::min<std::ptrdiff_t>(2, std::ssize(shape)));
  };
  const ir::Shape left_stack = stack_of(*left);
  const ir::Shape right_stack = stack_of(*right);
  const bool is_in_matrix = (of_left.is_rows() && of_left.axis >= left_stack.size()) ||
                            (of_right.is_rows() && of_right.axis >= right_stack.size());
  if (is_in_matrix) return context.mixes("each row of one input meets all rows of the other");
  const auto stack = broadcast_shapes(left_stack, right_stack);
  if (!stack.is_ok()) return context.mixes("its inputs do not fit");
  const RowOperand operands[] = {{&left_stack, of_left}, {&right_stack, of_right}};
  return std::vector{SLUICE_TRY(broadcast_rows(operands, *stack))};
}

RowsResult matmul_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0, 1}));
  return product_of(context, 0, 1);
}

/// A zero point for each row of A would be one for each place.
RowsResult integer_product_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0, 1}));
  if (context.rows(1).is_rows() ? !is_one_number(context, 3) : false) {
    return context.mixes("its zero points are those of places");
  }
  if (!is_one_number(context, 2)) return context.mixes("its zero points are those of places");
  return product_of(context, 0, 1);
}

RowsResult quantized_product_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0, 3}));
  for (const std::size_t i : {1U, 2U, 6U, 7U}) {
    if (!is_one_number(context, i)) return context.mixes("its scales are those of places");
  }
  if (context.rows(3).is_rows() && !(is_one_number(context, 4) && is_one_number(context, 5))) {
    return context.mixes("its scales are those of places");
  }
  return product_of(context, 0, 3);
}

RowsResult narrow_product_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0}));
  const std::size_t axis = context.rows(0).axis;
  if (axis + 1 == context.shape(0).size()) {
    return context.mixes("it sums along the axis of rows");
  }
  return std::vector{context.rows(0)};
}

RowsResult gemm_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0, 2}));
  const std::size_t outer = context.facts.int_attribute("transA") == 0 ? 0 : 1;
  if (!context.rows(0).are_at(outer)) {
    return context.mixes("it sums along the axis of rows");
  }
  const ir::Shape* shape = context.output(0);
  if (shape == nullptr) return context.mixes("the shape of its result is unknown");
  std::vector<RowOperand> operands = {{shape, Rows::at(0)}};
  if (context.facts.has_input(2)) operands.push_back({context.facts.shape(2), context.rows(2)});
  return std::vector{SLUICE_TRY(broadcast_rows(operands, *shape))};
}

constexpr NamedRowRule kProductRules[] = {
    {"", "Gemm", gemm_rows},
    {"", "MatMul", matmul_rows},
    {"", "MatMulInteger", integer_product_rows},
    {"", "QLinearMatMul", quantized_product_rows},
    {"sluice", "NarrowMatMul", narrow_product_rows},
};

}  // namespace

std::span<const NamedRowRule> product_row_rules() { return kProductRules; }

}  // namespace sluice::ops
