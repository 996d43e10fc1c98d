// A box cut from a tensor.
#include <algorithm>
#include <limits>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

// Exporters write the largest number of 32 or 64 bits for "to the end", the lowest for the other
// way.
constexpr std::int64_t kFarEnd = std::numeric_limits<std::int32_t>::max();

struct Cut {
  ir::Dim start, end;
  std::int64_t step = 1;
};

struct Range {
  std::int64_t start, count;
};

/// The elements that numbers pick, clamped to the dimension. As in Python, but for a start before
/// the first element: a cut backwards then has that element, as the standard's text has it.
Range cut_numbers(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (dim == 0) return {0, 0};
  const bool is_forward = step > 0;
  const std::int64_t lowest = is_forward ? 0 : -1;
  const std::int64_t highest = is_forward ? dim : dim - 1;
  // -dim - 1 stands for everything before the first element: the sum with dim cannot overflow then.
  if (start < 0) start = std::max(start, -dim - 1) + dim;
  if (end < 0) end = std::max(end, -dim - 1) + dim;
  start = std::clamp(start, std::int64_t{0}, highest);
  end = std::clamp(end, lowest, highest);
  const std::int64_t distance = is_forward ? end - start : start - end;
  if (distance <= 0) return {start, 0};
  // In unsigned numbers the magnitude of the lowest step exists, too.
  const auto stride = is_forward ? static_cast<std::uint64_t>(step)
                                 : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  const auto count = (static_cast<std::uint64_t>(distance) - 1) / stride + 1;
  return {start, static_cast<std::int64_t>(count)};
}

/// Length of a symbolic dimension after a cut; nullopt where no simple expression is exact.
std::optional<ir::Dim> cut_symbol(const ir::Dim& dim, const Cut& cut) {
  const bool to_end = cut.end == dim || (cut.end.is_known() && cut.end.value() >= kFarEnd);
  const bool from_begin = cut.start.is(0);
  if (cut.step == -1) {
    const bool is_reversal = cut.start.is(-1) && cut.end.is_known() && cut.end.value() <= -kFarEnd;
    return is_reversal ? std::optional(dim) : std::nullopt;
  }
  if (cut.step < 1 || !cut.start.is_known()) return std::nullopt;
  const std::int64_t start = cut.start.value();
  std::optional<ir::Dim> length;
  if (to_end) {
    if (from_begin) length = dim;
    if (start > 0) length = max(dim - start, 0);
    if (start < 0) length = min(dim, ir::Dim(0) - start);
  } else if (start >= 0 && is_never_negative(cut.end)) {
    const ir::Dim stop = min(cut.end, dim);
    length = from_begin ? stop : max(stop - start, 0);
  } else if (start >= 0 && cut.end.is_known()) {
    length = max(dim + cut.end - start, 0);
  }
  if (!length) return std::nullopt;
  return ceil_div(*length, cut.step);
}

/// By axis of the input; nullopt for axes that are not cut.
using Cuts = std::vector<std::optional<Cut>>;

/// nullopt if the axes or steps will be known at the run only.
Result<std::optional<Cuts>> read_cuts(const InferenceContext& context, std::size_t rank) {
  const Values* starts = context.values(1);
  const Values* ends = context.values(2);
  const auto axes = context.static_values(3);
  const auto steps = context.static_values(4);
  const bool is_unknown = starts == nullptr || ends == nullptr || (context.has_input(3) && !axes) ||
                          (context.has_input(4) && !steps);
  if (is_unknown) return std::optional<Cuts>();
  const std::size_t count = starts->size();
  if (ends->size() != count || (axes && axes->size() != count) ||
      (steps && steps->size() != count)) {
    return context.error("starts, ends, axes and steps have different lengths");
  }
  Cuts cuts(rank);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis =
        SLUICE_TRY(context.axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank));
    std::optional<Cut>& cut = cuts[axis];
    if (cut) return context.error("axis {} stands twice", axis);
    cut = Cut{(*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1};
    if (cut->step == 0) return context.error("the step of axis {} is 0", axis);
  }
  return std::optional(std::move(cuts));
}

ir::Dim cut_length(InferenceContext& context, const ir::Dim& dim, const Cut& cut) {
  if (dim.is_known() && cut.start.is_known() && cut.end.is_known()) {
    return cut_numbers(dim.value(), cut.start.value(), cut.end.value(), cut.step).count;
  }
  const auto length = cut_symbol(dim, cut);
  return length ? *length : context.unknown_dim();
}

void cut_values(InferenceContext& context, const Cut& cut) {
  const Values* values = context.values(0);
  if (values == nullptr || !cut.start.is_known() || !cut.end.is_known()) return;
  const auto [start, count] = cut_numbers(static_cast<std::int64_t>(values->size()),
                                          cut.start.value(), cut.end.value(), cut.step);
  Values result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back((*values)[static_cast<std::size_t>(start + i * cut.step)]);
  }
  context.set_output_values(0, std::move(result));
}

Status infer_slice(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const auto cuts = SLUICE_TRY(read_cuts(context, input->size()));
  if (!cuts) {
    const auto rank = static_cast<std::int64_t>(input->size());
    context.set_output(0, context.element(0), unknown_shape(context, rank));
    return ok_status();
  }
  ir::Shape result = *input;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if ((*cuts)[i]) result[i] = cut_length(context, result[i], *(*cuts)[i]);
  }
  context.set_output(0, context.element(0), std::move(result));
  // Values are followed for vectors alone, of which there is one cut at most.
  if (cuts->size() == 1 && cuts->front()) cut_values(context, *cuts->front());
  return ok_status();
}

Status upgrade_slice(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version >= 10) return ok_status();
  attribute_to_input(subgraph, operation, "starts", 1);
  attribute_to_input(subgraph, operation, "ends", 2);
  attribute_to_input(subgraph, operation, "axes", 3);
  operation.version = 13;
  return ok_status();
}

OperandSpec position(std::string_view name, bool is_optional) {
  return {.name = name,
          .types = kIndices,
          .variable = "Tind",
          .is_optional = is_optional,
          .is_shape_value = true};
}

}  // namespace

std::vector<OpSchema> slice_ops() {
  return {{.name = "Slice",
           .versions = {1, 10, 11, 13},
           .doc = "a box cut from a tensor, with steps",
           .inputs = {{.name = "data", .types = kAllTensors, .variable = "T"},
                      position("starts", false),
                      position("ends", false),
                      position("axes", true),
                      position("steps", true)},
           .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
           .infer = infer_slice,
           .upgrade = upgrade_slice}};
}

}  // namespace sluice::ops
