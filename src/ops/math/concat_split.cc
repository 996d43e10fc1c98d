// Tensors joined along an axis, and cut.
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

/// Merges another input's dimensions into `result`: all except `axis` must be equal.
Status join(const InferenceContext& context, ir::Shape& result, const ir::Shape& other,
            std::size_t axis) {
  if (other.size() != result.size()) {
    return context.error("inputs {} and {} have different ranks", ir::shape_to_string(result),
                         ir::shape_to_string(other));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i == axis) {
      result[i] = result[i] + other[i];
      // A number says more than a symbol. Two symbols may be equal at the run, so the first stays.
    } else if (!result[i].is_known()) {
      if (other[i].is_known()) result[i] = other[i];
    } else if (other[i].is_known() && result[i] != other[i]) {
      return context.error("dimension {} is {} in one input and {} in another", i,
                           result[i].to_string(), other[i].to_string());
    }
  }
  return ok_status();
}

/// Shapes are built by Concat: values of the parts become those of the whole.
void join_values(InferenceContext& context) {
  Values joined;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const Values* values = context.values(i);
    if (values == nullptr) return;
    joined.insert(joined.end(), values->begin(), values->end());
  }
  if (joined.size() <= static_cast<std::size_t>(kMaxFollowedValues))
    context.set_output_values(0, std::move(joined));
}

Status infer_concat(InferenceContext& context) {
  if (context.num_inputs() == 0) return context.error("has no inputs to join");
  const ir::Shape* first = context.shape(0);
  if (first == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(first->size()));
  ir::Shape result = *first;
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) return context.error("input {} is missing", i);
    const ir::Shape* shape = context.shape(i);
    if (shape == nullptr) return ok_status();
    SLUICE_TRY(join(context, result, *shape, axis));
  }
  const bool is_vector = result.size() == 1;
  context.set_output(0, context.element(0), std::move(result));
  if (is_vector) join_values(context);
  return ok_status();
}

/// Equal parts of which the last may be smaller, down to 0. The standard says nothing of dimensions
/// that leave less than nothing for it: 6 in 5 parts of 2. onnxruntime refuses them, too.
Result<std::vector<ir::Dim>> equal_parts(const InferenceContext& context, const ir::Dim& whole) {
  const auto count = static_cast<std::int64_t>(context.num_outputs());
  if (count == 0 || context.int_attribute("num_outputs", count) != count) {
    return context.error("num_outputs is {}, but there are {} outputs",
                         context.int_attribute("num_outputs", count), count);
  }
  const ir::Dim part = ceil_div(whole, count);
  std::vector<ir::Dim> parts(context.num_outputs(), part);
  parts.back() = whole - part * (count - 1);
  if (parts.back().is_known() && parts.back().value() < 0) {
    return context.error(
        "a dimension of {} does not split into {} parts of {} and a smaller last one",
        whole.to_string(), count - 1, part.to_string());
  }
  return parts;
}

Result<std::vector<ir::Dim>> given_parts(const InferenceContext& context, const ir::Dim& whole,
                                         const Values& split) {
  if (split.size() != context.num_outputs()) {
    return context.error("split has {} entries for {} outputs", split.size(),
                         context.num_outputs());
  }
  ir::Dim total(0);
  for (const ir::Dim& part : split) total = total + part;
  if (!may_be_equal(total, whole)) {
    return context.error("the parts sum to {}, the dimension is {}", total.to_string(),
                         whole.to_string());
  }
  return split;
}

Result<std::vector<ir::Dim>> parts_of(InferenceContext& context, const ir::Dim& whole) {
  if (!context.has_input(1)) return equal_parts(context, whole);
  if (context.attributes().contains("num_outputs")) {
    return context.error("it has both a split and num_outputs {}",
                         context.int_attribute("num_outputs"));
  }
  if (const Values* split = context.values(1)) return given_parts(context, whole, *split);
  return unknown_shape(context, static_cast<std::int64_t>(context.num_outputs()));
}

void split_values(InferenceContext& context, const std::vector<ir::Dim>& parts) {
  const Values* values = context.values(0);
  if (values == nullptr) return;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is_known() || parts[i].value() < 0) return;
    const auto count = static_cast<std::size_t>(parts[i].value());
    if (count > values->size() - begin) return;
    const std::span<const ir::Dim> part = std::span(*values).subspan(begin, count);
    context.set_output_values(i, Values(part.begin(), part.end()));
    begin += count;
  }
}

Status infer_split(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  ir::Shape shape = *input;
  ir::Dim& along = shape[SLUICE_TRY(context.axis_attribute(shape.size()))];
  const std::vector<ir::Dim> parts = SLUICE_TRY(parts_of(context, along));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    along = parts[i];
    context.set_output(i, context.element(0), shape);
  }
  if (shape.size() == 1) split_values(context, parts);
  return ok_status();
}

/// Before version 13 the sizes were an attribute; before 18 the axis had to be divisible into equal
/// parts.
Status upgrade_split(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version < 13) attribute_to_input(subgraph, operation, "split", 1);
  operation.version = 18;
  return ok_status();
}

}  // namespace

std::vector<OpSchema> concat_split_ops() {
  return {
      {.name = "Concat",
       .versions = {4, 11, 13},
       .doc = "tensors joined along an axis",
       .inputs = {{.name = "inputs", .types = kAllTensors, .variable = "T", .is_variadic = true}},
       .outputs = {{.name = "concat_result", .types = kAllTensors, .variable = "T"}},
       .attributes = {{.name = "axis", .default_value = std::int64_t{0}, .is_required = true}},
       .infer = infer_concat},
      {.name = "Split",
       .versions = {2, 11, 13, 18},
       .doc = "a tensor cut along an axis",
       .inputs =
           {{.name = "input", .types = kAllTensors, .variable = "T"},
            {.name = "split", .types = kI64Only, .is_optional = true, .is_shape_value = true}},
       .outputs = {{.name = "outputs", .types = kAllTensors, .variable = "T", .is_variadic = true}},
       .attributes = {{.name = "axis", .default_value = std::int64_t{0}}},
       .infer = infer_split,
       .upgrade = upgrade_split},
  };
}

}  // namespace sluice::ops
