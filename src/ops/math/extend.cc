// Operators that enlarge tensors: Pad, Tile, Expand.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

Status infer_expand(InferenceContext& context) {
  const ir::ElementType element = context.element(0);
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  // Without values the rank is known if the length of the shape's vector is.
  const Values* wanted = context.values(1);
  if (wanted == nullptr) {
    const auto length = vector_length(context, 1);
    if (!length) return ok_status();
    const auto rank = std::max(*length, static_cast<std::int64_t>(input->size()));
    context.set_output(0, element, unknown_shape(context, rank));
    return ok_status();
  }
  auto shape = broadcast_shapes(*input, *wanted);
  if (!shape.is_ok()) return context.error("{}", shape.status().message());
  context.set_output(0, element, std::move(shape).value());
  // One value repeated: the shape arithmetic of exported models does so.
  const Values* values = context.values(0);
  const ir::Shape& output = *context.output(0).shape();
  if (values == nullptr || values->size() != 1 || output.size() != 1) return ok_status();
  if (output[0].is_known() && output[0].value() <= kMaxFollowedValues && output[0].value() >= 0) {
    const auto count = static_cast<std::size_t>(output[0].value());
    context.set_output_values(0, Values(count, values->front()));
  }
  return ok_status();
}

Status infer_tile(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const Values* repeats = context.values(1);
  if (repeats == nullptr) {
    const auto rank = static_cast<std::int64_t>(input->size());
    context.set_output(0, context.element(0), unknown_shape(context, rank));
    return ok_status();
  }
  if (repeats->size() != input->size()) {
    return context.error("{} repeats for the {} dimensions of the input", repeats->size(),
                         input->size());
  }
  ir::Shape result = *input;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = result[i] * (*repeats)[i];
  context.set_output(0, context.element(0), std::move(result));
  return ok_status();
}

/// The axes that `pads` describes: all, or those of input 3.
Result<std::optional<std::vector<std::size_t>>> padded_axes(const InferenceContext& context,
                                                            std::size_t rank) {
  std::vector<std::size_t> axes;
  if (!context.has_input(3)) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
    return std::optional(std::move(axes));
  }
  const auto given = context.static_values(3);
  if (!given) return std::optional<std::vector<std::size_t>>();
  for (const std::int64_t axis : *given) {
    axes.push_back(SLUICE_TRY(context.axis(axis, rank)));
  }
  return std::optional(std::move(axes));
}

Status infer_pad(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "mode", {"constant", "reflect", "edge", "wrap"}));
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const Values* pads = context.values(1);
  const auto axes = SLUICE_TRY(padded_axes(context, input->size()));
  if (pads == nullptr || !axes) {
    const auto rank = static_cast<std::int64_t>(input->size());
    context.set_output(0, context.element(0), unknown_shape(context, rank));
    return ok_status();
  }
  if (pads->size() != 2 * axes->size()) {
    return context.error("{} pads for {} axes; each needs two", pads->size(), axes->size());
  }
  ir::Shape result = *input;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    ir::Dim& dim = result[(*axes)[i]];
    // A negative pad cuts. A dimension below 0 is refused by infer_operation.
    dim = dim + (*pads)[i] + (*pads)[i + axes->size()];
  }
  context.set_output(0, context.element(0), std::move(result));
  return ok_status();
}

Status upgrade_pad(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version >= 11) return ok_status();
  attribute_to_input(subgraph, operation, "pads", 1);
  attribute_to_input_like_data(subgraph, operation, "value", 2);
  operation.version = 25;
  return ok_status();
}

/// `data` and an i64 vector that sizes the result.
OpSchema extending(std::string_view name, std::vector<int> versions, std::string_view doc,
                   InferFn infer, std::string_view second) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "input", .types = kAllTensors, .variable = "T"},
                     {.name = second, .types = kI64Only, .is_shape_value = true}},
          .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
          .infer = infer};
}

}  // namespace

std::vector<OpSchema> extend_ops() {
  OpSchema pad = extending("Pad", {2, 11, 13, 18, 19, 21, 23, 24, 25},
                           "borders of a constant, of reflections, of the edge, or of copies",
                           infer_pad, "pads");
  pad.inputs.push_back({.name = "constant_value",
                        .types = kAllTensors,
                        .variable = "T",
                        .is_optional = true,
                        .is_single = true});
  pad.inputs.push_back(
      {.name = "axes", .types = kIndices, .is_optional = true, .is_shape_value = true});
  pad.attributes = {{.name = "mode", .default_value = std::string("constant")}};
  pad.upgrade = upgrade_pad;
  return {
      extending("Expand", {8, 13}, "broadcast to a shape", infer_expand, "shape"),
      std::move(pad),
      extending("Tile", {6, 13}, "repeated along each axis", infer_tile, "repeats"),
  };
}

}  // namespace sluice::ops
