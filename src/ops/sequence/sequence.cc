// Sequences of tensors. Steps of the executor.
#include "ops/control/types.h"
#include "ops/families.h"

namespace sluice::ops {
namespace {

using Kind = ir::Type::Kind;

/// The type of the items of input `index`.
Result<ir::Type> item_type(const InferenceContext& context, std::size_t index) {
  const ir::Type& type = context.input(index);
  if (type.kind() == Kind::kSequence) return type.item();
  return context.error("input {} must be a sequence, not {}", index, type.to_string());
}

/// Items may differ in size, so each size that is no number becomes unknown, apart from the inputs'
/// symbols.
Status infer_construct(InferenceContext& context) {
  ir::Type item;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    item = join_types(context, item, context.input(i));
  }
  context.set_output(0, ir::Type::sequence(with_own_dims(context, item)));
  return ok_status();
}

/// The first item that is inserted gives the type of the items.
Status infer_empty(InferenceContext& context) {
  context.set_output(0, ir::Type::sequence(ir::Type()));
  return ok_status();
}

Status infer_insert(InferenceContext& context) {
  const ir::Type item = SLUICE_TRY(item_type(context, 0));
  const ir::Type& added = context.input(1);
  if (item.is_tensor() && added.is_tensor() && item.element() != added.element() &&
      item.element() != ir::ElementType::kUndefined) {
    return context.error("{} cannot be put into a sequence of {}", added.to_string(),
                         item.to_string());
  }
  // Dimensions in which the items differ become unknown.
  const ir::Type joined = join_types(context, item, added);
  context.set_output(0, ir::Type::sequence(with_own_dims(context, joined)));
  return ok_status();
}

Status infer_erase(InferenceContext& context) {
  context.set_output(0, ir::Type::sequence(SLUICE_TRY(item_type(context, 0))));
  return ok_status();
}

Status infer_at(InferenceContext& context) {
  const ir::Type item = SLUICE_TRY(item_type(context, 0));
  const bool is_told = item.kind() != Kind::kUnknown;
  // The items of an empty sequence have no type yet.
  context.set_output(
      0, is_told ? with_own_dims(context, item) : ir::Type::tensor(ir::ElementType::kUndefined));
  return ok_status();
}

Status infer_length(InferenceContext& context) {
  SLUICE_TRY(item_type(context, 0));
  context.set_output(0, ir::ElementType::kI64, ir::Shape{});
  return ok_status();
}

Status infer_split(InferenceContext& context) {
  const ir::Shape* shape = context.shape(0);
  if (shape == nullptr) {
    context.set_output(0, ir::Type::sequence(ir::Type::tensor(context.element(0))));
    return ok_status();
  }
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(shape->size()));
  ir::Shape item = *shape;
  // With sizes given, parts keep the axis whatever `keepdims` says, as ONNX has it.
  const auto at = item.begin() + static_cast<std::ptrdiff_t>(axis);
  if (context.int_attribute("keepdims", 1) == 0 && !context.has_input(1)) {
    item.erase(at);
  } else {
    *at = context.has_input(1) ? context.unknown_dim() : ir::Dim(1);
  }
  context.set_output(0, ir::Type::sequence(ir::Type::tensor(context.element(0), std::move(item))));
  return ok_status();
}

Status infer_concat(InferenceContext& context) {
  const ir::Type item = SLUICE_TRY(item_type(context, 0));
  if (!item.is_tensor() || item.shape() == nullptr) {
    context.set_output(0, ir::Type::tensor(item.element()));
    return ok_status();
  }
  const bool stacks = context.int_attribute("new_axis") != 0;
  // With new_axis the items are stacked along a new axis, whose place counts in the result.
  const std::size_t rank = item.shape()->size() + (stacks ? 1 : 0);
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(rank));
  ir::Shape shape = *with_own_dims(context, item).shape();
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  if (stacks) {
    shape.insert(at, context.unknown_dim());
  } else {
    *at = context.unknown_dim();
  }
  context.set_output(0, item.element(), std::move(shape));
  return ok_status();
}

OperandSpec sequence(std::string_view name) {
  return {.name = name, .types = kAllTensors, .takes_any_type = true};
}
OperandSpec tensor(std::string_view name) { return {.name = name, .types = kAllTensors}; }
OperandSpec position(bool is_optional) {
  return {.name = "position", .types = kIndices, .is_optional = is_optional};
}

OpSchema schema(std::string_view name, std::string_view doc, std::vector<OperandSpec> inputs,
                OperandSpec output, InferFn infer) {
  return {.name = name,
          .versions = {11},
          .doc = doc,
          .inputs = std::move(inputs),
          .outputs = {output},
          .infer = infer,
          .traits = kControlFlow};
}

OpSchema split_schema() {
  OpSchema split =
      schema("SplitToSequence", "a tensor cut along an axis into a sequence",
             {tensor("input"), {.name = "split", .types = kIndices, .is_optional = true}},
             sequence("output_sequence"), infer_split);
  split.versions = {11, 24};
  split.upgrade = upgrade_unchanged;
  split.attributes = {{.name = "axis", .default_value = std::int64_t{0}},
                      {.name = "keepdims", .default_value = std::int64_t{1}}};
  return split;
}

OpSchema concat_schema() {
  OpSchema concat = schema("ConcatFromSequence", "the items of a sequence joined along an axis",
                           {sequence("input_sequence")}, tensor("concat_result"), infer_concat);
  concat.attributes = {{.name = "axis", .default_value = {}, .is_required = true},
                       {.name = "new_axis", .default_value = std::int64_t{0}}};
  return concat;
}

}  // namespace

std::vector<OpSchema> sequence_ops() {
  OperandSpec items = tensor("inputs");
  items.is_variadic = true;
  OpSchema empty =
      schema("SequenceEmpty", "a sequence without items", {}, sequence("output"), infer_empty);
  empty.attributes = {{.name = "dtype", .default_value = std::int64_t{1}}};
  return {
      schema("SequenceConstruct", "a sequence of the inputs", {items}, sequence("output_sequence"),
             infer_construct),
      std::move(empty),
      schema("SequenceInsert", "a sequence with one more item",
             {sequence("input_sequence"), tensor("tensor"), position(true)},
             sequence("output_sequence"), infer_insert),
      schema("SequenceErase", "a sequence without one of its items",
             {sequence("input_sequence"), position(true)}, sequence("output_sequence"),
             infer_erase),
      schema("SequenceAt", "one item of a sequence", {sequence("input_sequence"), position(false)},
             tensor("tensor"), infer_at),
      schema("SequenceLength", "how many items a sequence has", {sequence("input_sequence")},
             {.name = "length", .types = kI64Only}, infer_length),
      split_schema(),
      concat_schema(),
  };
}

}  // namespace sluice::ops
