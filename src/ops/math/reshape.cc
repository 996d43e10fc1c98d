// The same elements in the same order under another shape.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

/// Also for sequences and optionals, whose types pass as they are. Values pass for tensors: shapes
/// often go through an Identity.
Status infer_identity(InferenceContext& context) {
  context.set_output(0, context.input(0));
  if (context.input(0).is_tensor()) pass_values(context);
  return ok_status();
}

Status infer_dropout(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  context.set_output(1, context.output(0).with_element(ir::ElementType::kBool));
  return ok_status();
}

/// The dimension written -1: all elements over those of the other dimensions. Dimensions present on
/// both sides cancel first, so that [N,128,768] as [N,128,-1] is 768 and [0,3] as [0,-1] is 3.
Result<ir::Dim> remaining_dim(const InferenceContext& context, ir::Shape input,
                              const ir::Shape& others) {
  ir::Shape divisors;
  for (const ir::Dim& dim : others) {
    const auto same = std::find(input.begin(), input.end(), dim);
    if (same == input.end()) {
      divisors.push_back(dim);
    } else {
      input.erase(same);
    }
  }
  const ir::Dim total = product(input);
  const ir::Dim divisor = product(divisors);
  // With symbols the division may have a rest that only the run can see.
  const bool is_known = total.is_known() && divisor.is_known();
  if (divisor.is(0) || (is_known && total.value() % divisor.value() != 0)) {
    return context.error("{} elements do not divide by {}", total.to_string(), divisor.to_string());
  }
  return floor_div(total, divisor);
}

/// `wanted` with its zeros replaced; `position` of -1, or wanted.size().
Result<ir::Shape> requested_dims(InferenceContext& context, const Values& wanted,
                                 std::size_t& position) {
  const bool allow_zero = context.int_attribute("allowzero") != 0;
  const ir::Shape* input = context.shape(0);
  ir::Shape result;
  position = wanted.size();
  // 0 copies the dimension at the same place, unless `allowzero` makes it a dimension of 0.
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ir::Dim dim = wanted[i];
    if (dim.is(0) && !allow_zero) {
      // A 0 behind the last dimension of the input has nothing to copy.
      if (input != nullptr && i >= input->size()) {
        return context.error("shape[{}] is 0, but the input {} has no dimension {}", i,
                             ir::shape_to_string(*input), i);
      }
      dim = input != nullptr ? (*input)[i] : context.unknown_dim();
    } else if (dim.is(-1)) {
      if (position != wanted.size()) return context.error("shape has more than one -1");
      position = i;
      dim = 1;
    }
    result.push_back(std::move(dim));
  }
  return result;
}

Status check_count(const InferenceContext& context, const ir::Shape& input,
                   const ir::Shape& output) {
  const ir::Dim before = product(input);
  const ir::Dim after = product(output);
  // Products of equal symbols compare equal, so most models are checked before they run.
  if (!before.is_known() || !after.is_known() || before == after) return ok_status();
  return context.error("{} has {} elements, the new shape {} takes {}", ir::shape_to_string(input),
                       before.to_string(), ir::shape_to_string(output), after.to_string());
}

Status infer_reshape(InferenceContext& context) {
  const Values* wanted = context.values(1);
  // Without the values the rank is the length of the vector.
  const ir::ElementType element = context.element(0);
  if (wanted == nullptr) {
    const auto rank = vector_length(context, 1);
    context.set_output(0, element,
                       rank ? std::optional(unknown_shape(context, *rank)) : std::nullopt);
    return ok_status();
  }
  std::size_t position = 0;
  ir::Shape shape = SLUICE_TRY(requested_dims(context, *wanted, position));
  const ir::Shape* input = context.shape(0);
  if (position < shape.size()) {
    ir::Shape others = shape;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(position));
    shape[position] = input != nullptr ? SLUICE_TRY(remaining_dim(context, *input, others))
                                       : context.unknown_dim();
  }
  if (input != nullptr) SLUICE_TRY(check_count(context, *input, shape));
  context.set_output(0, element, std::move(shape));
  pass_values(context);
  return ok_status();
}

Status infer_flatten(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) {
    context.set_output(0, context.element(0), unknown_shape(context, 2));
    return ok_status();
  }
  const auto rank = static_cast<std::int64_t>(input->size());
  std::int64_t axis = context.int_attribute("axis");
  if (axis < -rank || axis > rank) {
    return context.error("axis {} is outside a tensor of rank {}", axis, rank);
  }
  if (axis < 0) axis += rank;
  // The axis may equal the rank: then the second dimension is the empty product, 1.
  const std::span<const ir::Dim> dims(*input);
  const auto split = static_cast<std::size_t>(axis);
  context.set_output(0, context.element(0),
                     ir::Shape{product(dims.first(split)), product(dims.subspan(split))});
  return ok_status();
}

/// Marks the axes of input 1 in a tensor of `rank`; each may stand once.
Result<std::vector<bool>> marked_axes(const InferenceContext& context,
                                      const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (const std::int64_t axis : axes) {
    const std::size_t place = SLUICE_TRY(context.axis(axis, rank));
    if (marked[place]) return context.error("axis {} stands twice", axis);
    marked[place] = true;
  }
  return marked;
}

/// Without axes every dimension of 1 is removed, which needs static dimensions.
std::optional<std::vector<bool>> ones(const ir::Shape& shape) {
  std::vector<bool> marked;
  for (const ir::Dim& dim : shape) {
    if (!dim.is_known()) return std::nullopt;
    marked.push_back(dim.is(1));
  }
  return marked;
}

Status infer_squeeze(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  std::optional<std::vector<bool>> dropped;
  if (!context.has_input(1)) {
    dropped = ones(*input);
  } else if (const auto axes = context.static_values(1)) {
    dropped = SLUICE_TRY(marked_axes(context, *axes, input->size()));
  }
  if (!dropped) return ok_status();
  ir::Shape result;
  for (std::size_t i = 0; i < input->size(); ++i) {
    const ir::Dim& dim = (*input)[i];
    if (!(*dropped)[i]) {
      result.push_back(dim);
    } else if (dim.is_known() && !dim.is(1)) {
      return context.error("axis {} of {} is not 1", i, ir::shape_to_string(*input));
    }
  }
  context.set_output(0, context.element(0), std::move(result));
  pass_values(context);
  return ok_status();
}

Status infer_unsqueeze(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const auto axes = context.static_values(1);
  if (!axes) {
    if (const auto count = vector_length(context, 1)) {
      const auto rank = static_cast<std::int64_t>(input->size()) + *count;
      context.set_output(0, context.element(0), unknown_shape(context, rank));
    }
    return ok_status();
  }
  const std::size_t rank = input->size() + axes->size();
  const std::vector<bool> added = SLUICE_TRY(marked_axes(context, *axes, rank));
  ir::Shape result;
  // Added axes take their places in the result; the input's dimensions fill the others in order.
  auto next = input->begin();
  for (std::size_t i = 0; i < rank; ++i) result.push_back(added[i] ? ir::Dim(1) : *next++);
  context.set_output(0, context.element(0), std::move(result));
  pass_values(context);
  return ok_status();
}

Status upgrade_axes(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version < 13) {
    attribute_to_input(subgraph, operation, "axes", 1);
    operation.version = 25;
  }
  return ok_status();
}

Status upgrade_dropout(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version < 12) {
    attribute_to_input(subgraph, operation, "ratio", 1);
    operation.version = 22;
  }
  return ok_status();
}

/// A view of input 0; `second` names its shape-value input, if any.
OpSchema view(std::string_view name, std::vector<int> versions, std::string_view doc, InferFn infer,
              std::string_view second = "") {
  OpSchema schema = {.name = name,
                     .versions = std::move(versions),
                     .doc = doc,
                     .inputs = {{.name = "data", .types = kAllTensors, .variable = "T"}},
                     .outputs = {{.name = "result", .types = kAllTensors, .variable = "T"}},
                     .infer = infer,
                     .traits = kView};
  if (!second.empty()) {
    schema.inputs.push_back({.name = second, .types = kI64Only, .is_shape_value = true});
  }
  return schema;
}

/// `given` is an input of the model that a caller may leave out: it is `default_value` then. The
/// value is not folded, and the compiled model keeps the default.
OpSchema input_or_default() {
  return {.domain = "sluice",
          .name = "InputOrDefault",
          .versions = {1},
          .doc = "an input of the model that has a default value",
          .inputs = {{.name = "given", .types = kAllTensors, .variable = "T"},
                     {.name = "default_value", .types = kAllTensors, .variable = "T"}},
          .outputs = {{.name = "value", .types = kAllTensors, .variable = "T"}},
          .infer = infer_identity,
          .traits = kView};
}

OpSchema dropout() {
  constexpr TypeSet kTypes = kFloats | kEightBitFloats;
  return {
      .name = "Dropout",
      .versions = {7, 10, 12, 13, 22},
      .doc = "input 0 unchanged unless it trains; the mask of kept elements",
      .inputs = {{.name = "data", .types = kTypes, .variable = "T"},
                 {.name = "ratio", .types = kTypes, .is_optional = true, .is_single = true},
                 {.name = "training_mode", .types = kBools, .is_optional = true, .is_single = true},
                 random_state_input()},
      .outputs = {{.name = "output", .types = kTypes, .variable = "T"},
                  {.name = "mask", .types = kBools, .is_optional = true}},
      .infer = infer_dropout,
      .traits = kRandom,
      .upgrade = upgrade_dropout};
}

}  // namespace

std::vector<OpSchema> reshape_ops() {
  OpSchema flatten = view("Flatten", {1, 9, 11, 13, 21, 23, 24, 25},
                          "two dimensions: those before an axis, and the others", infer_flatten);
  flatten.attributes = {{.name = "axis", .default_value = std::int64_t{1}}};
  OpSchema identity =
      view("Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, "its input", infer_identity);
  identity.inputs[0].takes_any_type = true;
  OpSchema reshape =
      view("Reshape", {5, 13, 14, 19, 21, 23, 24, 25},
           "a new shape; 0 keeps a dimension, -1 is inferred", infer_reshape, "shape");
  reshape.attributes = {{.name = "allowzero", .default_value = std::int64_t{0}}};
  OpSchema squeeze = view("Squeeze", {1, 11, 13, 21, 23, 24, 25}, "dimensions of 1 dropped",
                          infer_squeeze, "axes");
  squeeze.inputs[1].is_optional = true;
  squeeze.upgrade = upgrade_axes;
  OpSchema unsqueeze = view("Unsqueeze", {1, 11, 13, 21, 23, 24, 25}, "dimensions of 1 added",
                            infer_unsqueeze, "axes");
  unsqueeze.upgrade = upgrade_axes;
  return {dropout(),          input_or_default(), std::move(flatten),  std::move(identity),
          std::move(reshape), std::move(squeeze), std::move(unsqueeze)};
}

}  // namespace sluice::ops
