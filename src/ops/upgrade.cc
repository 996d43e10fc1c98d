#include "ops/upgrade.h"

#include <cstring>
#include <optional>
#include <utility>

#include "ir/numbers/short_float.h"
#include "ops/schema.h"

namespace sluice::ops {
namespace {

void set_input(ir::Operation& operation, std::size_t index, ir::OperandId id) {
  if (operation.inputs.size() <= index) operation.inputs.resize(index + 1);
  operation.inputs[index] = id;
}

template <typename T>
ir::Shape vector_shape(const std::vector<T>& values) {
  return {static_cast<std::int64_t>(values.size())};
}

std::optional<ir::Constant> constant_of(const ir::Attributes& attributes, std::string_view name) {
  if (const auto* ints = attributes.find<std::vector<std::int64_t>>(name)) {
    return ir::make_i64_constant(*ints, vector_shape(*ints));
  }
  if (const auto* floats = attributes.find<std::vector<float>>(name)) {
    return ir::make_f32_constant(*floats, vector_shape(*floats));
  }
  if (const auto* value = attributes.find<std::int64_t>(name)) {
    return ir::make_i64_constant({*value}, {1});
  }
  if (const auto* value = attributes.find<float>(name)) {
    return ir::make_f32_constant({*value}, {});
  }
  return std::nullopt;
}

template <typename T>
ir::Constant scalar(ir::ElementType element, T value) {
  std::vector<std::byte> data(sizeof(T));
  std::memcpy(data.data(), &value, sizeof(T));
  return {ir::Type::tensor(element, ir::Shape()), Bytes::own(std::move(data))};
}

ir::Constant float_scalar(ir::ElementType element, float value) {
  switch (element) {
    case ir::ElementType::kF64: return scalar<double>(element, value);
    // Attributes are f32; the input that replaces one has the type of the data.
    case ir::ElementType::kF16: return scalar<std::uint16_t>(element, ir::narrow_to_f16(value));
    case ir::ElementType::kBf16: return scalar<std::uint16_t>(element, ir::narrow_to_bf16(value));
    default: return ir::make_f32_constant({value}, {});
  }
}

/// `scalar` in the element type that `data` will turn out to have.
ir::OperandId add_cast_like(ir::Subgraph& subgraph, const ir::Operation& reader,
                            ir::OperandId scalar, ir::OperandId data) {
  if (!data.is_valid()) return scalar;
  ir::Operation cast;
  cast.kind = "CastLike";
  cast.version = find_schema("", "CastLike")->newest_version();
  cast.name = reader.name;
  cast.inputs = {scalar, data};
  cast.outputs = {subgraph.add_operand({})};
  const ir::OperandId result = cast.outputs[0];
  subgraph.add_operation(std::move(cast));
  return result;
}

}  // namespace

void attribute_to_input(ir::Subgraph& subgraph, ir::Operation& operation, std::string_view name,
                        std::size_t index) {
  auto constant = constant_of(operation.attributes, name);
  if (!constant) return;
  operation.attributes.erase(name);
  set_input(operation, index, subgraph.add_constant("", std::move(*constant)));
}

void attribute_to_input_like_data(ir::Subgraph& subgraph, ir::Operation& operation,
                                  std::string_view name, std::size_t index) {
  const auto* value = operation.attributes.find<float>(name);
  if (value == nullptr) return;
  const ir::OperandId data = operation.input(0);
  const ir::ElementType element =
      data.is_valid() ? subgraph.operand(data).type.element() : ir::ElementType::kUndefined;
  ir::OperandId id = subgraph.add_constant("", float_scalar(element, *value));
  // The file declares no type and inference runs later, so the cast decides at the run.
  if (element == ir::ElementType::kUndefined) id = add_cast_like(subgraph, operation, id, data);
  operation.attributes.erase(name);
  set_input(operation, index, id);
}

std::optional<std::size_t> declared_rank(const ir::Subgraph& subgraph, ir::OperandId id) {
  if (!id.is_valid()) return std::nullopt;
  const ir::Type& type = subgraph.operand(id).type;
  if (!type.is_tensor() || type.shape() == nullptr) return std::nullopt;
  return type.shape()->size();
}

void append_ones(ir::Subgraph& subgraph, ir::Operation& operation, std::size_t index,
                 std::size_t count) {
  if (count == 0) return;
  std::vector<std::int64_t> axes;
  // Negative axes count from the end of the result, whose rank need not be known.
  for (std::size_t i = 0; i < count; ++i) axes.push_back(-1 - static_cast<std::int64_t>(i));
  ir::Operation unsqueeze;
  unsqueeze.kind = "Unsqueeze";
  unsqueeze.version = find_schema("", "Unsqueeze")->newest_version();
  unsqueeze.name = operation.name;
  unsqueeze.inputs = {operation.inputs[index],
                      subgraph.add_constant("", ir::make_i64_constant(axes, vector_shape(axes)))};
  unsqueeze.outputs = {subgraph.add_operand({})};
  operation.inputs[index] = unsqueeze.outputs[0];
  subgraph.add_operation(std::move(unsqueeze));
}

Status measure_first(ir::Subgraph& subgraph, ir::Operation& operation, std::string_view measure,
                     std::string_view rest) {
  ir::Operation first;
  first.domain = "sluice";
  first.kind = measure;
  first.version = find_schema("sluice", measure)->newest_version();
  first.name = operation.name;
  first.inputs = operation.inputs;
  first.attributes = operation.attributes;
  first.outputs = {subgraph.add_operand({})};
  operation.domain = "sluice";
  operation.kind = rest;
  operation.version = find_schema("sluice", rest)->newest_version();
  operation.inputs.push_back(first.outputs[0]);
  subgraph.add_operation(std::move(first));
  return ok_status();
}

Status upgrade_broadcast(ir::Subgraph& subgraph, ir::Operation& operation) {
  // Opset 7 replaced the attributes `axis` and `broadcast` by numpy's rule.
  if (operation.version >= 7) return ok_status();
  const auto* axis = operation.attributes.find<std::int64_t>("axis");
  if (axis != nullptr && operation.attributes.get_or<std::int64_t>("broadcast", 0) != 0) {
    const auto a = declared_rank(subgraph, operation.input(0));
    const auto b = declared_rank(subgraph, operation.input(1));
    if (!a || !b) {
      return unimplemented("{}: broadcast along axis {} of an input of undeclared rank",
                           operation.describe(), *axis);
    }
    // A negative axis may still be negative here. It then wraps to a number above any rank.
    const auto first = static_cast<std::size_t>(*axis < 0 ? *axis + static_cast<int>(*a) : *axis);
    if (first > *a || *b > *a - first) {
      return invalid_argument("{}: axis {} does not fit inputs of rank {} and {}",
                              operation.describe(), *axis, *a, *b);
    }
    // numpy's rule aligns trailing dimensions: ones behind b move it to `axis`.
    append_ones(subgraph, operation, 1, *a - first - *b);
  }
  operation.attributes.erase("axis");
  operation.attributes.erase("broadcast");
  return upgrade_unchanged(subgraph, operation);
}

}  // namespace sluice::ops
