// Tensors made from a few numbers: Constant, ConstantOfShape, Range, EyeLike, OneHot.
#include <cmath>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

template <typename T>
std::int64_t count(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.size());
}

/// One of the attributes is set. The importer turns a sparse value into a dense one.
Status infer_constant(InferenceContext& context) {
  using ir::ElementType;
  const ir::Attributes& attributes = context.attributes();
  if (const auto* value = attributes.find<ir::Constant>("value")) {
    context.set_output(0, value->type);
  } else if (const auto* ints = attributes.find<std::vector<std::int64_t>>("value_ints")) {
    context.set_output(0, ElementType::kI64, ir::Shape{count(*ints)});
  } else if (const auto* floats = attributes.find<std::vector<float>>("value_floats")) {
    context.set_output(0, ElementType::kF32, ir::Shape{count(*floats)});
  } else if (const auto* texts = attributes.find<std::vector<std::string>>("value_strings")) {
    context.set_output(0, ElementType::kString, ir::Shape{count(*texts)});
  } else if (attributes.contains("value_int")) {
    context.set_output(0, ElementType::kI64, ir::Shape{});
  } else if (attributes.contains("value_float")) {
    context.set_output(0, ElementType::kF32, ir::Shape{});
  } else if (attributes.contains("value_string")) {
    context.set_output(0, ElementType::kString, ir::Shape{});
  } else {
    return context.error("has no supported value");
  }
  return ok_status();
}

Status infer_constant_of_shape(InferenceContext& context) {
  const auto* value = context.attributes().find<ir::Constant>("value");
  if (value == nullptr || ir::num_elements(*value->type.shape()) != 1) {
    return context.error("attribute \"value\" must have one element");
  }
  const ir::ElementType element = value->type.element();
  const Values* dims = context.values(0);
  if (dims == nullptr) {
    const auto rank = vector_length(context, 0);
    context.set_output(0, element,
                       rank ? std::optional(unknown_shape(context, *rank)) : std::nullopt);
    return ok_status();
  }
  context.set_output(0, element, *dims);
  // Whole numbers are followed, as they may be dimensions; long vectors are data, not shapes.
  const auto numbers = ir::integer_values(*value);
  const bool is_small = dims->size() == 1 && dims->front().is_known() &&
                        dims->front().value() >= 0 && dims->front().value() <= kMaxFollowedValues;
  if (numbers && is_small) {
    const auto length = static_cast<std::size_t>(dims->front().value());
    context.set_output_values(0, Values(length, numbers->front()));
  }
  return ok_status();
}

const ir::Dim* scalar_value(const InferenceContext& context, std::size_t input) {
  const Values* values = context.values(input);
  return values != nullptr && values->size() == 1 ? &values->front() : nullptr;
}

std::optional<double> scalar_float(const InferenceContext& context, std::size_t input) {
  const FloatValues* values = context.float_values(input);
  if (values == nullptr || values->size() != 1) return std::nullopt;
  return values->front();
}

/// max(ceil((limit - start) / delta), 0); an unknown dimension where an input is not known.
Result<ir::Dim> float_range_length(InferenceContext& context) {
  const auto start = scalar_float(context, 0);
  const auto limit = scalar_float(context, 1);
  const auto delta = scalar_float(context, 2);
  if (!start || !limit || !delta) return context.unknown_dim();
  const double length = std::ceil((*limit - *start) / *delta);
  // Below 2^53 every whole number is a double, so the conversion is exact; NaN fails the
  // comparison, too.
  constexpr double kMaxLength = 9.0e15;
  if (!(std::fabs(length) < kMaxLength)) {
    return context.error("from {} to {} by {} is not a finite range", *start, *limit, *delta);
  }
  return ir::Dim(length > 0 ? static_cast<std::int64_t>(length) : 0);
}

/// The same for integers, whose symbols are followed.
Result<ir::Dim> integer_range_length(InferenceContext& context) {
  const ir::Dim* start = scalar_value(context, 0);
  const ir::Dim* limit = scalar_value(context, 1);
  const ir::Dim* delta = scalar_value(context, 2);
  // A symbolic step could divide by zero, so only a known one makes a formula.
  if (!start || !limit || !delta || !delta->is_known()) return context.unknown_dim();
  if (delta->is(0)) return context.error("delta is 0");
  const ir::Dim distance = ceil_div(*limit - *start, *delta);
  // A symbolic distance may turn out negative, which is an empty range.
  return is_never_negative(distance) ? distance : max(distance, 0);
}

Status infer_range(InferenceContext& context) {
  const bool is_integer = ir::is_integer(context.element(0));
  ir::Dim length = is_integer ? SLUICE_TRY(integer_range_length(context))
                              : SLUICE_TRY(float_range_length(context));
  context.set_output(0, context.element(0), ir::Shape{length});
  const bool is_small =
      length.is_known() && length.value() >= 0 && length.value() <= kMaxFollowedValues;
  // Only integers are followed: shape arithmetic has no others.
  if (!is_integer || !is_small || scalar_value(context, 0) == nullptr) return ok_status();
  Values values;
  for (std::int64_t i = 0; i < length.value(); ++i) {
    values.push_back(*scalar_value(context, 0) + *scalar_value(context, 2) * i);
  }
  context.set_output_values(0, std::move(values));
  return ok_status();
}

Status infer_eye_like(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  const ir::Shape* shape = context.shape(0);
  if (shape != nullptr && shape->size() != 2) {
    return context.error("the input must be a matrix, not {}", ir::shape_to_string(*shape));
  }
  const auto* number = context.attributes().find<std::int64_t>("dtype");
  if (number == nullptr) return ok_status();
  const auto type = ir::element_type_from_onnx(*number);
  if (!type)
    return context.error("attribute \"dtype\" is {}, which is not an element type", *number);
  context.set_output(0, context.output(0).with_element(*type));
  return ok_status();
}

/// `depth` may be a float: ONNX allows any numeric type.
ir::Dim one_hot_depth(InferenceContext& context) {
  if (const ir::Dim* depth = scalar_value(context, 1)) return *depth;
  const auto depth = scalar_float(context, 1);
  constexpr double kMaxDepth = 9.0e15;
  if (depth && std::fabs(*depth) < kMaxDepth) return static_cast<std::int64_t>(*depth);
  return context.unknown_dim();
}

Status infer_one_hot(InferenceContext& context) {
  const ir::Shape* indices = context.shape(0);
  context.set_output(0, context.element(2), std::nullopt);
  if (indices == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(indices->size() + 1));
  ir::Shape result = *indices;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), one_hot_depth(context));
  context.set_output(0, context.element(2), std::move(result));
  return ok_status();
}

OpSchema generator(std::string_view name, std::vector<int> versions, std::string_view doc,
                   InferFn infer, std::vector<OperandSpec> inputs, TypeSet types) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = std::move(inputs),
          .outputs = {{.name = "output", .types = types}},
          .infer = infer};
}

OpSchema range() {
  static constexpr TypeSet kTypes = kFloats | kIndices | TypeSet{ir::ElementType::kI16};
  const auto bound = [](std::string_view name) {
    return OperandSpec{
        .name = name, .types = kTypes, .variable = "T", .is_shape_value = true, .is_single = true};
  };
  return generator("Range", {11, 27}, "start, start + delta, ... below limit", infer_range,
                   {bound("start"), bound("limit"), bound("delta")}, kTypes);
}

OpSchema one_hot() {
  OpSchema schema = generator(
      "OneHot", {9, 11, 28}, "one value at each index, another value elsewhere", infer_one_hot,
      {{.name = "indices", .types = kNumbers},
       {.name = "depth", .types = kNumbers, .is_shape_value = true, .is_single = true},
       {.name = "values", .types = kAllTensors}},
      kAllTensors);
  schema.attributes = {{.name = "axis", .default_value = std::int64_t{-1}}};
  return schema;
}

}  // namespace

std::vector<OpSchema> generate_ops() {
  OpSchema constant_of_shape =
      generator("ConstantOfShape", {9, 20, 21, 23, 24, 25}, "one value in a given shape",
                infer_constant_of_shape,
                {{.name = "input", .types = kI64Only, .is_shape_value = true}}, kAllTensors);
  constant_of_shape.attributes = {
      {.name = "value", .default_value = ir::make_f32_constant({0.0F}, {1})}};
  OpSchema eye_like = generator("EyeLike", {9, 22}, "1 on a diagonal, 0 elsewhere", infer_eye_like,
                                {{.name = "input", .types = kNumbers | kBools}}, kNumbers | kBools);
  eye_like.attributes = {{.name = "k", .default_value = std::int64_t{0}}};
  return {
      generator("Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, "a value of the model itself",
                infer_constant, {}, kAllTensors),
      std::move(constant_of_shape),
      std::move(eye_like),
      one_hot(),
      range(),
  };
}

}  // namespace sluice::ops
