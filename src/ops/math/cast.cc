// Changing the element type.
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kCastable = kNumbers | kBools | kStrings | kEightBitFloats | kFourBits | kTwoBits;

Result<ir::ElementType> target_type(const InferenceContext& context) {
  const std::int64_t number = context.int_attribute("to");
  const auto type = ir::element_type_from_onnx(number);
  if (type) return *type;
  return context.error("attribute \"to\" is {}, which is not an element type", number);
}

void set_cast_output(InferenceContext& context, ir::ElementType type) {
  context.set_output(0, context.input(0).with_element(type).with_layout(ir::Layout::kRowMajor));
  if (type == ir::ElementType::kI64 || type == ir::ElementType::kI32) pass_values(context);
}

Status infer_cast(InferenceContext& context) {
  set_cast_output(context, SLUICE_TRY(target_type(context)));
  return ok_status();
}

Status infer_cast_like(InferenceContext& context) {
  set_cast_output(context, context.element(1));
  return ok_status();
}

/// The bits are kept, so both types must have the same width.
Status infer_bit_cast(InferenceContext& context) {
  const ir::ElementType type = SLUICE_TRY(target_type(context));
  if (ir::element_bits(type) == 0 ||
      ir::element_bits(type) != ir::element_bits(context.element(0))) {
    return context.error("{} cannot be read as {}: the widths differ",
                         ir::element_type_name(context.element(0)), ir::element_type_name(type));
  }
  context.set_output(0, context.input(0).with_element(type).with_layout(ir::Layout::kRowMajor));
  return ok_status();
}

std::vector<AttributeSpec> rounding() {
  return {{.name = "round_mode", .default_value = std::string("up")},
          {.name = "saturate", .default_value = std::int64_t{1}}};
}

OpSchema cast() {
  OpSchema schema = {.name = "Cast",
                     .versions = {6, 9, 13, 19, 21, 23, 24, 25, 28},
                     .doc = "elements converted to the type named by an attribute",
                     .inputs = {{.name = "input", .types = kCastable}},
                     .outputs = {{.name = "output", .types = kCastable}},
                     .attributes = rounding(),
                     .infer = infer_cast,
                     .traits = kElementwise};
  schema.attributes.push_back(
      {.name = "to", .default_value = std::int64_t{0}, .is_required = true});
  return schema;
}

OpSchema cast_like() {
  return {.name = "CastLike",
          .versions = {15, 19, 21, 23, 24, 25},
          .doc = "elements converted to the type of another tensor",
          .inputs = {{.name = "input", .types = kCastable},
                     {.name = "target_type", .types = kCastable}},
          .outputs = {{.name = "output", .types = kCastable}},
          .attributes = rounding(),
          .infer = infer_cast_like};
}

OpSchema bit_cast() {
  constexpr TypeSet kTypes = kNumbers | kBools | kComplex | kEightBitFloats | kFourBits | kTwoBits;
  return {.name = "BitCast",
          .versions = {26},
          .doc = "the same bits read as another type of the same width",
          .inputs = {{.name = "input", .types = kTypes}},
          .outputs = {{.name = "output", .types = kTypes}},
          .attributes = {{.name = "to", .default_value = std::int64_t{0}, .is_required = true}},
          .infer = infer_bit_cast};
}

}  // namespace

std::vector<OpSchema> cast_ops() { return {bit_cast(), cast(), cast_like()}; }

}  // namespace sluice::ops
