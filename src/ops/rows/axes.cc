// Operators that work along some axes: rows along another axis stay apart.
#include <algorithm>

#include "ops/rows/row_rule.h"

namespace sluice::ops {
namespace {

Status along_rows(const RowContext& context) {
  return context.mixes("it works along axis {}, the axis of rows", context.rows(0).axis);
}

/// All outputs have the rows where input 0 has them.
RowsResult same_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0}));
  return std::vector{context.rows(0)};
}

/// The axis is attribute `axis`.
RowsResult along_axis(const RowContext& context) {
  const std::size_t axis = SLUICE_TRY(axis_of(context, "axis", context.shape(0).size()));
  if (context.rows(0).are_at(axis)) return along_rows(context);
  return same_rows(context);
}

/// All axes from `axis` on.
RowsResult along_last_axes(const RowContext& context) {
  const std::size_t axis = SLUICE_TRY(axis_of(context, "axis", context.shape(0).size()));
  if (context.rows(0).axis >= axis) return along_rows(context);
  return same_rows(context);
}

/// Before version 13 a softmax took all axes from `axis` on as one.
RowsResult softmax_rows(const RowContext& context) {
  const bool is_flat = context.facts.version() < 13;
  const auto rank = static_cast<std::int64_t>(context.shape(0).size());
  if (is_flat && context.facts.int_attribute("axis") == rank) return same_rows(context);
  return is_flat ? along_last_axes(context) : along_axis(context);
}

/// The axis is a number that input 1 gives.
RowsResult cumulative_rows(const RowContext& context) {
  const auto values = context.facts.static_values(1);
  if (!values || values->size() != 1) return context.mixes("its axis is unknown");
  const auto axis = normalize_axis(values->front(), context.shape(0).size());
  if (!axis.is_ok() || context.rows(0).are_at(static_cast<std::size_t>(*axis))) {
    return along_rows(context);
  }
  return same_rows(context);
}

/// Marks of the axes that attribute or input 1 names; all of them where none does.
Result<std::vector<bool>> named_axes(const RowContext& context) {
  const std::size_t rank = context.shape(0).size();
  std::vector<std::int64_t> axes = context.facts.ints_attribute("axes");
  if (context.facts.has_input(1)) {
    const auto values = context.facts.static_values(1);
    if (!values) return context.mixes("its axes are unknown");
    axes = *values;
  }
  const bool takes_all = axes.empty() && context.facts.int_attribute("noop_with_empty_axes") == 0;
  std::vector<bool> marks(rank, takes_all);
  for (const std::int64_t one : axes) {
    const auto axis = normalize_axis(one, rank);
    if (!axis.is_ok()) return context.mixes("its axes are unknown");
    marks[static_cast<std::size_t>(*axis)] = true;
  }
  return marks;
}

/// Where the rows are after the marked axes went, unless they stay as 1.
RowsResult without(const RowContext& context, const std::vector<bool>& marks) {
  SLUICE_TRY(context.others_have_none({0}));
  const std::size_t axis = context.rows(0).axis;
  if (marks[axis]) return along_rows(context);
  if (context.facts.int_attribute("keepdims", 1) != 0) return std::vector{context.rows(0)};
  const auto end = marks.begin() + static_cast<std::ptrdiff_t>(axis);
  return std::vector{
      Rows::at(axis - static_cast<std::size_t>(std::count(marks.begin(), end, true)))};
}

RowsResult reduction_rows(const RowContext& context) {
  return without(context, SLUICE_TRY(named_axes(context)));
}

RowsResult extreme_rows(const RowContext& context) {
  std::vector<bool> marks(context.shape(0).size(), false);
  marks[SLUICE_TRY(axis_of(context, "axis", marks.size()))] = true;
  return without(context, marks);
}

/// The last two axes are matrices.
RowsResult matrix_rows(const RowContext& context) {
  if (context.rows(0).axis + 2 >= context.shape(0).size()) return along_rows(context);
  return same_rows(context);
}

/// Scales and zero points are one for all, or a vector along `axis`.
RowsResult quantized_rows(const RowContext& context) {
  if (!context.rows(0).is_rows()) return context.mixes("its scales differ from row to row");
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    const ir::Shape* shape = context.facts.shape(i);
    if (!context.facts.has_input(i) || (shape != nullptr && shape->empty())) continue;
    if (shape == nullptr || shape->size() != 1) return context.mixes("its scales are of blocks");
    if (shape->front().is(1) && context.rows(i).is_none()) continue;
    const std::size_t axis = SLUICE_TRY(axis_of(context, "axis", context.shape(0).size()));
    const bool is_along_rows = context.rows(0).are_at(axis);
    const bool fits = is_along_rows
                          ? context.rows(i).is_rows() && shape->front() == context.shape(0)[axis]
                          : context.rows(i).is_none();
    if (!fits) return context.mixes("the scales do not fit the rows");
  }
  return std::vector{context.rows(0)};
}

constexpr NamedRowRule kAxisRules[] = {
    {"", "ArgMax", extreme_rows},
    {"", "ArgMin", extreme_rows},
    {"", "CumProd", cumulative_rows},
    {"", "CumSum", cumulative_rows},
    {"", "DequantizeLinear", quantized_rows},
    {"", "Det", matrix_rows},
    {"", "Hardmax", softmax_rows},
    {"", "LayerNormalization", along_last_axes},
    {"", "LogSoftmax", softmax_rows},
    {"", "LpNormalization", along_axis},
    {"", "MeanVarianceNormalization", reduction_rows},
    {"", "QuantizeLinear", quantized_rows},
    {"", "RMSNormalization", along_last_axes},
    {"", "ReduceL1", reduction_rows},
    {"", "ReduceL2", reduction_rows},
    {"", "ReduceLogSum", reduction_rows},
    {"", "ReduceLogSumExp", reduction_rows},
    {"", "ReduceMax", reduction_rows},
    {"", "ReduceMean", reduction_rows},
    {"", "ReduceMin", reduction_rows},
    {"", "ReduceProd", reduction_rows},
    {"", "ReduceSum", reduction_rows},
    {"", "ReduceSumSquare", reduction_rows},
    {"", "Softmax", softmax_rows},
    {"", "Split", along_axis},
    {"", "TopK", along_axis},
    {"", "Trilu", matrix_rows},
};

}  // namespace

std::span<const NamedRowRule> axis_row_rules() { return kAxisRules; }

}  // namespace sluice::ops
