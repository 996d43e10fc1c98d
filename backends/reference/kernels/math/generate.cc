// Tensors made from a few numbers: Constant, ConstantOfShape, Range, EyeLike, OneHot.
#include <algorithm>
#include <cstring>

#include "reference/arithmetic.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

template <typename T>
Status store_values(const Call& call, std::span<const T> values) {
  const auto y = call.output_elements<T>(0);
  if (y.size() != values.size()) return refuse(call.op(), "the value does not fit the output");
  std::ranges::copy(values, y.begin());
  return plugin::ok();
}

Status run_constant(const Call& call) {
  const plugin::Attributes attributes = call.attributes();
  if (const sluice_tensor* value = attributes.get_tensor("value")) {
    if (value->size_bytes != call.output(0).size_bytes) {
      return refuse(call.op(), "the value does not fit the output");
    }
    if (value->size_bytes > 0) {
      std::memcpy(call.output(0).data, value->data, static_cast<std::size_t>(value->size_bytes));
    }
    return plugin::ok();
  }
  // An attribute of one number and one of a list both hold `ints` and a count.
  for (const char* name : {"value_int", "value_ints"}) {
    for (const auto kind : {SLUICE_ATTRIBUTE_INT, SLUICE_ATTRIBUTE_INTS}) {
      const sluice_attribute* found = attributes.find(name, kind);
      if (found == nullptr) continue;
      return store_values<std::int64_t>(call,
                                        {found->ints, static_cast<std::size_t>(found->count)});
    }
  }
  for (const char* name : {"value_float", "value_floats"}) {
    for (const auto kind : {SLUICE_ATTRIBUTE_FLOAT, SLUICE_ATTRIBUTE_FLOATS}) {
      const sluice_attribute* found = attributes.find(name, kind);
      if (found == nullptr) continue;
      return store_values<float>(call, {found->floats, static_cast<std::size_t>(found->count)});
    }
  }
  return refuse(call.op(), "has no value that is handled");
}

/// The output's type is that of the value.
Status check_constant(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  if (const sluice_tensor* value = attributes.get_tensor("value")) {
    return value->element_type == type ? plugin::ok() : refuse(op, "element types differ");
  }
  if (type == plugin::kString) return unsupported_type(op, type);
  const bool is_float = attributes.find("value_float", SLUICE_ATTRIBUTE_FLOAT) != nullptr ||
                        attributes.find("value_floats", SLUICE_ATTRIBUTE_FLOATS) != nullptr;
  const bool fits = type == (is_float ? plugin::kF32 : plugin::kI64);
  return fits ? plugin::ok() : refuse(op, "element types differ");
}

Status check_constant_of_shape(const sluice_op& op) {
  const sluice_tensor* value = plugin::Attributes(op).get_tensor("value");
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  const int bits = plugin::element_bits(type);
  if (value == nullptr || plugin::num_elements(*value) != 1 || value->element_type != type) {
    return refuse(op, "value must have one element of the output's type");
  }
  if (bits == 0) return unsupported_type(op, type);
  return check_type(op, 0, kIndices);
}

Status run_constant_of_shape(const Call& call) {
  const Ints dims = read_integers(call.input(0));
  if (Status status = expect_dims(call, 0, dims); !status.is_ok()) return status;
  const Mover mover(*call.attributes().get_tensor("value"), call.output(0));
  const std::int64_t count = plugin::num_elements(dims);
  for (std::int64_t i = 0; i < count; ++i) mover.copy(0, i);
  return plugin::ok();
}

constexpr auto kRangeTypes = kFloats + kIndices + Types<std::int16_t>();

Status check_range(const sluice_op& op) {
  for (int i = 0; i < 3; ++i) {
    const sluice_tensor& input = op.inputs[i].tensor;
    if (input.element_type != op.outputs[0].tensor.element_type) {
      return refuse(op, "inputs and output have different element types");
    }
    if (plugin::is_static(input) && plugin::num_elements(input) != 1) {
      return refuse(op, "start, limit and delta must be scalars");
    }
  }
  return check_type(op, 0, kRangeTypes);
}

/// The output's length, from limit, was the shape function's work.
Status run_range(const Call& call) {
  // start + i * delta and no running sum, whose rounding errors would add up.
  return dispatch(kRangeTypes, call.input(0).element_type, [&]<typename T>() {
    const auto y = call.output_elements<T>(0);
    const Compute<T> start = call.input_elements<T>(0)[0];
    const Compute<T> delta = call.input_elements<T>(2)[0];
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = add(start, multiply(static_cast<Compute<T>>(i), delta));
    }
    return plugin::ok();
  });
}

Status check_eye_like(const sluice_op& op) {
  if (op.inputs[0].tensor.rank != 2) return refuse(op, "the input must be a matrix");
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  return contains(kNumbersAndBool, type) ? plugin::ok() : unsupported_type(op, type);
}

Status run_eye_like(const Call& call) {
  const Dims dims = dims_of(call.input(0));
  if (Status status = expect_dims(call, 0, dims); !status.is_ok()) return status;
  // Beyond the corners all diagonals are alike, and the difference below cannot overflow.
  const std::int64_t k = std::clamp(call.attributes().get_int("k"), -dims[0] - 1, dims[1] + 1);
  return dispatch(kNumbersAndBool, call.output(0).element_type, [&]<typename T>() {
    const auto y = call.output_elements<T>(0);
    for_each_index(dims, [&](std::int64_t i, Dims index) {
      const bool is_diagonal = index[1] - index[0] == k;
      y[static_cast<std::size_t>(i)] = convert<Compute<T>>(is_diagonal ? 1 : 0);
    });
    return plugin::ok();
  });
}

Status check_one_hot(const sluice_op& op) {
  if (op.inputs[2].tensor.element_type != op.outputs[0].tensor.element_type) {
    return refuse(op, "values and output have different element types");
  }
  if (plugin::is_static(op.inputs[2].tensor) && plugin::num_elements(op.inputs[2].tensor) != 2) {
    return refuse(op, "values must be two: off and on");
  }
  Status status = check_type(op, 0, kNumbers);
  return status.is_ok() ? check_movable(op, 2) : status;
}

/// The position of the on-value for each index; -1 for an index outside [-depth, depth).
Ints hot_places(const sluice_tensor& indices, std::int64_t depth) {
  Ints places;
  static_cast<void>(dispatch(kNumbers, indices.element_type, [&]<typename T>() {
    for (const T& element : plugin::elements<const T>(indices)) {
      const auto index = convert<std::int64_t>(static_cast<Compute<T>>(element));
      const bool is_inside = index >= -depth && index < depth;
      places.push_back(is_inside ? (index < 0 ? index + depth : index) : -1);
    }
    return plugin::ok();
  }));
  return places;
}

Status run_one_hot(const Call& call) {
  const Dims indices = dims_of(call.input(0));
  const Dims output = dims_of(call.output(0));
  std::size_t axis = 0;
  Status status =
      normalize_axis(call.op(), call.attributes().get_int("axis", -1), indices.size() + 1, &axis);
  if (!status.is_ok()) return status;
  Ints expected(indices.begin(), indices.end());
  // The shape function read the input depth. Here the output tells it.
  const std::int64_t depth = output.size() == indices.size() + 1 ? output[axis] : 0;
  expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  status = expect_dims(call, 0, expected);
  if (!status.is_ok()) return status;
  const AxisView view(output, axis);
  const Ints places = hot_places(call.input(0), depth);
  const Mover mover(call.input(2), call.output(0));
  for_each_index(Ints{view.outer, view.size, view.inner}, [&](std::int64_t i, Dims at) {
    const bool is_hot = places[static_cast<std::size_t>(at[0] * view.inner + at[2])] == at[1];
    mover.copy(is_hot ? 1 : 0, i);
  });
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> generate_kernels() {
  return {
      {.kind = "Constant", .run = run_constant, .check = check_constant, .num_required_inputs = 0},
      {.kind = "ConstantOfShape", .run = run_constant_of_shape, .check = check_constant_of_shape},
      {.kind = "EyeLike", .run = run_eye_like, .check = check_eye_like},
      {.kind = "OneHot", .run = run_one_hot, .check = check_one_hot, .num_required_inputs = 3},
      {.kind = "Range", .run = run_range, .check = check_range, .num_required_inputs = 3},
  };
}

}  // namespace sluice::reference
