// Operators that move whole tensors: views, transposes, parts and copies.
#include "ops/rows/row_rule.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

RowsResult copied_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0}));
  return std::vector{context.rows(0)};
}

/// A view keeps the order of elements, so that rows stay whole where the dimensions in front of
/// them have the same product: [S, N*8, 3] to [S, N, 24]. The caller checks the dimension.
RowsResult view_rows(const RowContext& context) {
  const ir::Shape* shape = context.output(0);
  if (!context.rows(0).is_rows() || shape == nullptr) {
    return context.mixes("the shape of its result is unknown");
  }
  const ir::Dim outer = product(std::span(context.shape(0)).first(context.rows(0).axis));
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    const bool is_outer_same = product(std::span(*shape).first(axis)) == outer;
    if (is_outer_same && !(*shape)[axis].is(1)) return std::vector{Rows::at(axis)};
  }
  return context.mixes("it divides {} into {}", ir::shape_to_string(context.shape(0)),
                       ir::shape_to_string(*shape));
}

RowsResult transposed_rows(const RowContext& context) {
  const std::size_t rank = context.shape(0).size();
  const std::size_t axis = context.rows(0).axis;
  if (!context.facts.attributes().contains("perm")) return std::vector{Rows::at(rank - 1 - axis)};
  const auto permutation = context.facts.ints_attribute("perm");
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const auto from = normalize_axis(permutation[i], rank);
    if (from.is_ok() && static_cast<std::size_t>(*from) == axis) return std::vector{Rows::at(i)};
  }
  return context.mixes("its permutation is unknown");
}

/// Whether input `index` has the same value for every number of rows: only then other axes are cut,
/// padded or repeated in the same way.
Status check_amounts(const RowContext& context, std::initializer_list<std::size_t> inputs) {
  for (const std::size_t i : inputs) {
    if (context.facts.has_input(i) && !context.rows(i).is_none()) {
      return context.mixes("its input {} depends on the number of rows", i);
    }
  }
  return ok_status();
}

Result<std::vector<std::int64_t>> numbers_of(const RowContext& context, std::size_t input,
                                             std::size_t count, std::int64_t fallback) {
  if (!context.facts.has_input(input)) return std::vector<std::int64_t>(count, fallback);
  const auto values = context.facts.static_values(input);
  if (!values || values->size() != count) {
    return context.mixes("its input {} is unknown", input);
  }
  return *values;
}

/// Along the rows only a part that is everything, in order, is allowed.
RowsResult slice_rows(const RowContext& context) {
  const ir::Shape* shape = context.output(0);
  const std::size_t rank = context.shape(0).size();
  const auto* starts = context.facts.shape(1);
  if (!context.rows(0).is_rows() || shape == nullptr || starts == nullptr || starts->size() != 1 ||
      !starts->front().is_known()) {
    return context.mixes("the part that it takes is unknown");
  }
  const auto count = static_cast<std::size_t>(starts->front().value());
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (context.facts.has_input(3)) axes = SLUICE_TRY(numbers_of(context, 3, count, 0));
  const auto steps = SLUICE_TRY(numbers_of(context, 4, count, 1));
  const std::size_t row_axis = context.rows(0).axis;
  bool cuts_others = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = normalize_axis(axes[i], rank);
    if (!axis.is_ok()) return context.mixes("its axes are unknown");
    const bool is_row_axis = static_cast<std::size_t>(*axis) == row_axis;
    cuts_others = cuts_others || !is_row_axis;
    if (is_row_axis && (steps[i] != 1 || (*shape)[row_axis] != context.shape(0)[row_axis])) {
      return context.mixes("it cuts axis {}, the axis of rows", row_axis);
    }
  }
  if (cuts_others) SLUICE_TRY(check_amounts(context, {1, 2}));
  return std::vector{context.rows(0)};
}

/// Pads of `axes`, or of all axes: the starts, then the ends.
RowsResult pad_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0}));
  const std::size_t rank = context.shape(0).size();
  const auto pads = context.facts.static_values(1);
  if (!pads || pads->size() % 2 != 0) return context.mixes("its pads are unknown");
  const std::size_t count = pads->size() / 2;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (context.facts.has_input(3)) axes = SLUICE_TRY(numbers_of(context, 3, count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = normalize_axis(axes[i], rank);
    if (!axis.is_ok()) return context.mixes("its axes are unknown");
    const bool is_row_axis = context.rows(0).are_at(static_cast<std::size_t>(*axis));
    if (is_row_axis && ((*pads)[i] != 0 || (*pads)[count + i] != 0)) {
      return context.mixes("it pads axis {}, the axis of rows", *axis);
    }
  }
  return std::vector{context.rows(0)};
}

/// The rows must stay as they are; the caller checks that other axes do not depend on their number.
RowsResult expand_rows(const RowContext& context) {
  const ir::Shape* shape = context.output(0);
  if (!context.rows(0).is_rows() || shape == nullptr) {
    return context.mixes("the shape of its result is unknown");
  }
  const RowOperand data = {&context.shape(0), context.rows(0)};
  return std::vector{SLUICE_TRY(broadcast_rows(std::span(&data, 1), *shape))};
}

RowsResult tile_rows(const RowContext& context) {
  const ir::Shape* shape = context.output(0);
  const std::size_t axis = context.rows(0).axis;
  if (!context.rows(0).is_rows() || shape == nullptr || shape->size() != context.shape(0).size() ||
      (*shape)[axis] != context.shape(0)[axis]) {
    return context.mixes("it repeats axis {}, the axis of rows", axis);
  }
  return std::vector{context.rows(0)};
}

RowsResult concat_rows(const RowContext& context) {
  const std::size_t rank = context.output(0) == nullptr ? 0 : context.output(0)->size();
  const std::size_t axis = SLUICE_TRY(axis_of(context, "axis", rank));
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.rows(i).are_at(axis)) {
      return context.mixes("it joins along axis {}, the axis of rows", axis);
    }
    if (!context.rows(i).is_rows() || context.rows(i).axis != context.rows(0).axis ||
        context.shape(i)[context.rows(i).axis] != context.shape(0)[context.rows(0).axis]) {
      return context.mixes("input {} has no rows along the axis of the first", i);
    }
  }
  return std::vector{context.rows(0)};
}

constexpr NamedRowRule kMoveRules[] = {
    {"", "Concat", concat_rows},
    {"", "Expand", expand_rows},
    {"", "Flatten", view_rows},
    {"", "Identity", copied_rows},
    {"", "Pad", pad_rows},
    {"", "Reshape", view_rows},
    {"", "Slice", slice_rows},
    {"", "Squeeze", view_rows},
    {"", "Tile", tile_rows},
    {"", "Transpose", transposed_rows},
    {"", "Unsqueeze", view_rows},
    {"sluice", "ByteTable", copied_rows},
    {"sluice", "FindKey", copied_rows},
    {"sluice", "Reorder", copied_rows},
};

}  // namespace

std::span<const NamedRowRule> move_row_rules() { return kMoveRules; }

}  // namespace sluice::ops
