// OneHotEncoder, LabelEncoder, CategoryMapper: the place of each element in a list of keys, and
// what stands at that place of another list.
#include <cstring>
#include <numeric>

#include "ir/texts.h"
#include "ops/lowering/lower_operations.h"
#include "ops/ml/pieces.h"

namespace sluice::ops {
namespace {

using ir::ElementType;
using ir::OperandId;
using FloatVector = std::vector<float>;
using Ints = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

ir::Shape length(std::size_t count) { return {static_cast<std::int64_t>(count)}; }

ir::Constant text_vector(const Texts& values) {
  return ir::make_text_constant(std::vector<std::string_view>(values.begin(), values.end()),
                                length(values.size()));
}

/// The places of x among `keys`; an index past the end for unlisted elements, or an error.
Result<OperandId> find_keys(Lowering& op, OperandId x, ir::Constant keys, bool must_find = false) {
  const std::int64_t refuses = must_find ? 1 : 0;
  return op.emit("FindKey", {x, op.constant(std::move(keys))}, {{"must_find", refuses}}, "sluice");
}

/// Output 0: the value of each key; the last value for unknown keys.
Status finish_look_up(Lowering& op, ir::Constant keys, ir::Constant values) {
  const OperandId places = SLUICE_TRY(find_keys(op, op.input(0), std::move(keys)));
  return op.finish("Gather", {op.constant(std::move(values)), places});
}

// ---- OneHotEncoder, CategoryMapper --------------------------------------------------------------

Status lower_one_hot(Lowering& op) {
  const Ints numbers = list_of<std::int64_t>(op, "cats_int64s");
  const Texts names = list_of<std::string>(op, "cats_strings");
  OperandId x = op.input(0);
  if (names.empty()) x = SLUICE_TRY(op.cast(x, ElementType::kI64));
  ir::Constant keys =
      names.empty() ? ir::make_i64_constant(numbers, length(numbers.size())) : text_vector(names);
  const bool must_find = op.int_of("zeros", 1) == 0;
  const OperandId places = SLUICE_TRY(find_keys(op, x, std::move(keys), must_find));
  Ints columns(numbers.size() + names.size());
  std::iota(columns.begin(), columns.end(), 0);
  const OperandId stretched = SLUICE_TRY(op.emit("Unsqueeze", {places, op.ints({-1})}));
  const OperandId is_here = SLUICE_TRY(op.emit("Equal", {stretched, op.ints(columns)}));
  return op.finish_cast(is_here, ElementType::kF32);
}

/// Names to the numbers at their places, or back; a default for unlisted elements.
Status finish_translation(Lowering& op, Texts names, Ints numbers) {
  if (op.element(0) == ElementType::kString) {
    numbers.push_back(op.int_of("default_int64", -1));
    return finish_look_up(op, text_vector(names),
                          ir::make_i64_constant(numbers, length(numbers.size())));
  }
  names.push_back(text_of(op, "default_string"));
  return finish_look_up(op, ir::make_i64_constant(numbers, length(numbers.size())),
                        text_vector(names));
}

Status lower_category_mapper(Lowering& op) {
  return finish_translation(op, list_of<std::string>(op, "cats_strings"),
                            list_of<std::int64_t>(op, "cats_int64s"));
}

// ---- LabelEncoder -------------------------------------------------------------------------------

/// "keys" or "values", whichever kind of list or tensor they came in, as a vector.
ir::Constant side_of(const Lowering& op, const std::string& prefix) {
  if (const auto* tensor = op.operation().attributes.find<ir::Constant>(prefix + "_tensor")) {
    const std::int64_t count = ir::num_elements(*tensor->type.shape()).value_or(0);
    return {ir::Type::tensor(tensor->type.element(), ir::Shape{count}), tensor->data};
  }
  if (const Ints ints = list_of<std::int64_t>(op, prefix + "_int64s"); !ints.empty()) {
    return ir::make_i64_constant(ints, length(ints.size()));
  }
  if (const FloatVector given = list_of<float>(op, prefix + "_floats"); !given.empty()) {
    return ir::make_f32_constant(given, length(given.size()));
  }
  return text_vector(list_of<std::string>(op, prefix + "_strings"));
}

template <typename T>
ir::Constant one(ElementType element, T value) {
  std::vector<std::byte> data(sizeof value);
  std::memcpy(data.data(), &value, sizeof value);
  return {ir::Type::tensor(element, ir::Shape{1}), Bytes::own(std::move(data))};
}

/// What `default_tensor` or the `default_*` of the values' kind says.
ir::Constant fallback_of(const Lowering& op, ElementType element) {
  if (const auto* tensor = op.operation().attributes.find<ir::Constant>("default_tensor")) {
    return {ir::Type::tensor(element, ir::Shape{1}), tensor->data};
  }
  const std::int64_t integer = op.int_of("default_int64", -1);
  const float number = op.float_of("default_float", -0.0F);
  switch (element) {
    case ElementType::kString: return text_vector({text_of(op, "default_string")});
    case ElementType::kI64: return one(element, integer);
    case ElementType::kI32: return one(element, static_cast<std::int32_t>(integer));
    case ElementType::kI16: return one(element, static_cast<std::int16_t>(integer));
    case ElementType::kF64: return one(element, static_cast<double>(number));
    default: return one(element, number);
  }
}

/// A vector and another of the same element type behind it.
ir::Constant join(const ir::Constant& head, const ir::Constant& tail) {
  const std::int64_t count = (*head.type.shape())[0].value() + (*tail.type.shape())[0].value();
  if (head.type.element() == ElementType::kString) {
    std::vector<std::string_view> all = ir::unpack_texts(head);
    for (const std::string_view text : ir::unpack_texts(tail)) all.push_back(text);
    return ir::make_text_constant(all, {count});
  }
  std::vector<std::byte> data(head.data.view().begin(), head.data.view().end());
  data.insert(data.end(), tail.data.view().begin(), tail.data.view().end());
  return {ir::Type::tensor(head.type.element(), ir::Shape{count}), Bytes::own(std::move(data))};
}

/// Version 1 has one list of names; the number of a name is its index.
Status lower_first_label_encoder(Lowering& op) {
  const Texts names = list_of<std::string>(op, "classes_strings");
  Ints places(names.size());
  std::iota(places.begin(), places.end(), 0);
  return finish_translation(op, names, places);
}

Status lower_label_encoder(Lowering& op) {
  if (op.operation().version == 1) return lower_first_label_encoder(op);
  const ir::Constant values = side_of(op, "values");
  const ir::Constant fallback = fallback_of(op, values.type.element());
  return finish_look_up(op, side_of(op, "keys"), join(values, fallback));
}

}  // namespace

NamedLowerings category_lowerings() {
  return {{"CategoryMapper", lower_category_mapper},
          {"LabelEncoder", lower_label_encoder},
          {"OneHotEncoder", lower_one_hot}};
}

}  // namespace sluice::ops
