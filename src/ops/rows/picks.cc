// Operators that pick or replace elements by index.
#include "ops/rows/row_rule.h"

namespace sluice::ops {
namespace {

/// Either each row picks from a table that is the same for all, or the same is picked of each row.
RowsResult gather_rows(const RowContext& context) {
  const ir::Shape* data = context.facts.shape(0);
  const ir::Shape* indices = context.facts.shape(1);
  if (data == nullptr || indices == nullptr) return context.mixes("its ranks are unknown");
  const std::size_t axis = SLUICE_TRY(axis_of(context, "axis", data->size()));
  const Rows rows = context.rows(0);
  if (rows.is_none()) return std::vector{Rows::at(axis + context.rows(1).axis)};
  if (!rows.is_rows() || !context.rows(1).is_none()) {
    return context.mixes("its indices may name another row");
  }
  if (rows.axis == axis) return context.mixes("it picks along axis {}, the axis of rows", axis);
  return std::vector{rows.axis < axis ? rows : Rows::at(rows.axis - 1 + indices->size())};
}

/// All inputs have the rows along the same axis, which is not the one of the indices.
RowsResult elements_rows(const RowContext& context) {
  const std::size_t axis = SLUICE_TRY(
      axis_of(context, "axis", context.output(0) == nullptr ? 0 : context.output(0)->size()));
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const bool is_same =
        context.rows(i).is_rows() && context.rows(i).axis == context.rows(0).axis &&
        context.shape(i)[context.rows(i).axis] == context.shape(0)[context.rows(0).axis];
    if (!is_same) return context.mixes("the inputs need their rows along one axis");
  }
  if (context.rows(0).are_at(axis)) {
    return context.mixes("it picks along axis {}, the axis of rows", axis);
  }
  return std::vector{context.rows(0)};
}

RowsResult gather_nd_rows(const RowContext& context) {
  const auto batch = static_cast<std::size_t>(context.facts.int_attribute("batch_dims"));
  const Rows indices = context.rows(1);
  if (!indices.is_rows()) return context.mixes("its indices may name any row");
  const bool is_index = indices.axis + 1 == context.shape(1).size();
  const bool is_batch = indices.axis < batch;
  const bool fits = is_batch ? context.rows(0).are_at(indices.axis) : context.rows(0).is_none();
  if (is_index || !fits) return context.mixes("its indices may name another row");
  return std::vector{indices};
}

RowsResult one_hot_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0}));
  const std::size_t rank = context.shape(0).size() + 1;
  const std::size_t added = SLUICE_TRY(axis_of(context, "axis", rank));
  const std::size_t axis = context.rows(0).axis;
  return std::vector{Rows::at(axis < added ? axis : axis + 1)};
}

/// Each sequence has a length of its own.
RowsResult reverse_sequence_rows(const RowContext& context) {
  const auto batch = static_cast<std::size_t>(context.facts.int_attribute("batch_axis"));
  if (!context.rows(0).are_at(batch)) return context.mixes("it reverses the axis of rows");
  if (!context.rows(1).are_at(0)) return context.mixes("its lengths are not those of the rows");
  return std::vector{context.rows(0)};
}

constexpr NamedRowRule kPickRules[] = {
    {"", "Gather", gather_rows},
    {"", "GatherElements", elements_rows},
    {"", "GatherND", gather_nd_rows},
    {"", "OneHot", one_hot_rows},
    {"", "ReverseSequence", reverse_sequence_rows},
    {"", "ScatterElements", elements_rows},
};

}  // namespace

std::span<const NamedRowRule> pick_row_rules() { return kPickRules; }

}  // namespace sluice::ops
