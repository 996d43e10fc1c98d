// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

using ir::ElementType;

constexpr TypeSet kQuantizedTypes =
    TypeSet{ElementType::kU8, ElementType::kI8, ElementType::kU16, ElementType::kI16} |
    kEightBitFloats | kFourBits | kTwoBits;
constexpr TypeSet kScaleTypes = {ElementType::kF32, ElementType::kF16, ElementType::kBf16,
                                 ElementType::kF8E8M0};
constexpr TypeSet kSources = {ElementType::kF32, ElementType::kF16, ElementType::kBf16,
                              ElementType::kI32};

bool is_single(const ir::Shape& shape) {
  return shape.empty() || (shape.size() == 1 && shape[0].is(1));
}

/// Scale: a scalar, one per index of an axis, or one per block along it.
Status check_scale(const InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* scale = context.shape(1);
  const ir::Shape* zero = context.shape(2);
  if (scale != nullptr && zero != nullptr && scale->size() != zero->size() &&
      !(is_single(*scale) && is_single(*zero))) {
    return context.error("scale {} and zero point {} must have the same shape",
                         ir::shape_to_string(*scale), ir::shape_to_string(*zero));
  }
  const std::int64_t block = context.int_attribute("block_size");
  if (block < 0) return context.error("block_size is {}", block);
  // A scale of one number fits any axis; with blocks it counts as a tensor.
  if (data == nullptr || scale == nullptr) return ok_status();
  if (scale->empty() || (is_single(*scale) && block == 0)) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(data->size(), 1));
  // The axis is read only now: a scalar scale allows any value of the attribute, also one out of
  // range.
  const ir::Dim& along = (*data)[axis];
  if (block > 0) {
    if (scale->size() != data->size())
      return context.error("a block's scale needs the data's rank");
    return ok_status();
  }
  if (scale->size() != 1 || !may_be_equal((*scale)[0], along)) {
    return context.error("scale {} does not fit axis {} of {}", ir::shape_to_string(*scale), axis,
                         ir::shape_to_string(*data));
  }
  return ok_status();
}

/// What the attribute output_dtype names; nullopt if it is absent or 0.
Result<std::optional<ElementType>> output_dtype(const InferenceContext& context) {
  const std::int64_t number = context.int_attribute("output_dtype");
  if (number == 0) return std::optional<ElementType>();
  const auto element = ir::element_type_from_onnx(number);
  if (!element) return context.error("output_dtype {} is not an element type", number);
  return element;
}

Status infer_quantize(InferenceContext& context) {
  SLUICE_TRY(check_scale(context));
  const std::optional<ElementType> declared = SLUICE_TRY(output_dtype(context));
  // The zero point's type wins over the attribute; without both the result is u8, as the standard
  // says.
  const ElementType element =
      context.has_input(2) ? context.element(2) : declared.value_or(ElementType::kU8);
  if (declared && *declared != element) {
    return context.error("output_dtype is {}, the zero point {}", ir::element_type_name(*declared),
                         ir::element_type_name(element));
  }
  if (!kQuantizedTypes.contains(element) && element != ElementType::kUndefined) {
    return context.error("it cannot quantize to {}", ir::element_type_name(element));
  }
  set_like_input(context, element);
  return ok_status();
}

Status infer_dequantize(InferenceContext& context) {
  SLUICE_TRY(check_scale(context));
  const std::optional<ElementType> declared = SLUICE_TRY(output_dtype(context));
  // An f8e8m0 is a power of two without a sign, which cannot be the result's type.
  const ElementType fallback =
      context.element(1) == ElementType::kF8E8M0 ? ElementType::kF32 : context.element(1);
  const ElementType element = declared.value_or(fallback);
  if (!kFloats.contains(element) && element != ElementType::kUndefined) {
    return context.error("it cannot dequantize to {}", ir::element_type_name(element));
  }
  set_like_input(context, element);
  return ok_status();
}

Status infer_dynamic_quantize(InferenceContext& context) {
  set_like_input(context, ElementType::kU8);
  // The scale and the zero point, which the operator finds from the data.
  context.set_output(1, ElementType::kF32, ir::Shape());
  context.set_output(2, ElementType::kU8, ir::Shape());
  return ok_status();
}

Status infer_byte_table(InferenceContext& context) {
  const ir::Shape* table = context.shape(1);
  if (table != nullptr && (table->size() != 1 || ((*table)[0].is_known() && (*table)[0] != 256))) {
    return context.error("the table is {}, not [256]", ir::shape_to_string(*table));
  }
  set_like_input(context, ElementType::kU8);
  return ok_status();
}

const std::vector<int>& versions() {
  static const std::vector<int> kVersions = {10, 13, 19, 21, 23, 24, 25, 28};
  return kVersions;
}

}  // namespace

std::vector<OpSchema> quantize_ops() {
  return {
      {.name = "QuantizeLinear",
       .versions = versions(),
       .doc = "saturate(round(x / scale) + zero point)",
       .inputs = {{"x", kSources, "T1"},
                  {"y_scale", kScaleTypes | TypeSet{ElementType::kI32}},
                  {"y_zero_point", kQuantizedTypes, "", true}},
       .outputs = {{"y", kQuantizedTypes}},
       .attributes = {{"axis", std::int64_t{1}},
                      {"block_size", std::int64_t{0}},
                      {"output_dtype", std::int64_t{0}},
                      {"precision", std::int64_t{0}},
                      {"saturate", std::int64_t{1}}},
       .infer = infer_quantize,
       .upgrade = upgrade_unchanged},
      {.name = "DequantizeLinear",
       .versions = versions(),
       .doc = "(x - zero point) * scale",
       .inputs = {{"x", kQuantizedTypes | TypeSet{ElementType::kI32}, "T1"},
                  {"x_scale", kScaleTypes},
                  {"x_zero_point", kQuantizedTypes | TypeSet{ElementType::kI32}, "T1", true}},
       .outputs = {{"y", kFloats}},
       .attributes = {{"axis", std::int64_t{1}},
                      {"block_size", std::int64_t{0}},
                      {"output_dtype", std::int64_t{0}}},
       .infer = infer_dequantize,
       .upgrade = upgrade_unchanged},
      {.name = "DynamicQuantizeLinear",
       .versions = {11},
       .doc = "quantizes to u8 with a scale and a zero point found from the data",
       .inputs = {{"x", {ElementType::kF32}}},
       .outputs = {{"y", {ElementType::kU8}},
                   {"y_scale", {ElementType::kF32}},
                   {"y_zero_point", {ElementType::kU8}}},
       .infer = infer_dynamic_quantize},
      {.domain = "sluice",
       .name = "ByteTable",
       .versions = {1},
       .doc = "table[x]: an element-wise function of one byte",
       .inputs = {{"x", {ElementType::kU8}}, {"table", {ElementType::kU8}}},
       .outputs = {{"y", {ElementType::kU8}}},
       .infer = infer_byte_table},
  };
}

}  // namespace sluice::ops
