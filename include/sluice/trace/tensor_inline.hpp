// Definitions of `sluice/trace/tensor.hpp`, which includes this file.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "sluice/trace/tensor.hpp"

namespace sluice::trace {

inline std::vector<Tensor> call_all(const Call& call, SourceLine line) {
  std::vector<sluice_value> inputs;
  for (const Tensor& input : call.inputs) inputs.push_back(input.value(line));
  std::vector<sluice_text> texts;
  texts.reserve(call.attributes.size());
  std::vector<sluice_attribute> attributes;
  for (const Attribute& given : call.attributes) {
    texts.push_back({given.text.data(), static_cast<std::int64_t>(given.text.size())});
    const std::size_t count = std::max(given.ints.size(), given.floats.size());
    const bool is_text = given.kind == SLUICE_ATTRIBUTE_TEXT;
    attributes.push_back({given.name.c_str(), given.kind,
                          is_text ? 1 : static_cast<std::int64_t>(count), given.ints.data(),
                          given.floats.data(), &texts.back(), nullptr});
  }
  sluice_trace_operation operation = {};
  operation.domain = call.domain;
  operation.kind = call.kind;
  operation.num_inputs = static_cast<std::int32_t>(inputs.size());
  operation.inputs = inputs.data();
  operation.attributes = attributes.data();
  operation.num_attributes = static_cast<std::int32_t>(attributes.size());
  std::vector<sluice_value> values(static_cast<std::size_t>(call.num_outputs));
  detail::Recording::current(line).record(operation, values, line);
  std::vector<Tensor> outputs;
  for (const sluice_value value : values) outputs.push_back(Tensor::of(value, line));
  return outputs;
}

inline Tensor::operator bool() const {
  const std::string what = "the program branches on a tensor, " + type() +
                           ", whose elements are not known while it is traced: use "
                           "sluice::trace::where, or branch on sizes and numbers of the program";
  refuse(line(), what);
}

inline std::vector<std::int64_t> Tensor::dims() const {
  const sluice_tensor_spec& spec = describe();
  return {spec.dims, spec.dims + std::max(spec.rank, 0)};
}

inline std::int64_t Tensor::dim(std::int64_t axis, SourceLine line) const {
  const auto known = dims();
  const auto size = static_cast<std::int64_t>(known.size());
  const std::int64_t at = axis < 0 ? axis + size : axis;
  if (at < 0 || at >= size) {
    refuse(line, "axis " + std::to_string(axis) + " of " + type() + " does not exist");
  }
  return known[static_cast<std::size_t>(at)];
}

namespace detail {

inline Tensor ints(const std::vector<std::int64_t>& values, SourceLine line) {
  return constant(values, {static_cast<std::int64_t>(values.size())}, line);
}

template <typename T>
Tensor scalar(double number, SourceLine line) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::uint8_t bit = number != 0 ? 1 : 0;
    const sluice_array array = {const_cast<std::uint8_t*>(&bit), 1, element_type_of<bool>(), 0,
                                nullptr};
    return Tensor::of(Recording::current(line).constant("", array, line), line);
  } else {
    if (std::is_integral_v<T> && (number != std::floor(number) ||
                                  number < static_cast<double>(std::numeric_limits<T>::lowest()) ||
                                  number > static_cast<double>(std::numeric_limits<T>::max()))) {
      refuse(line,
             "the number " + std::to_string(number) +
                 " is no element of the tensor beside it; convert the tensor with to<float>()");
    }
    return constant(std::vector<T>{T(static_cast<T>(number))}, {}, line);
  }
}

template <>
inline Tensor scalar<Half>(double number, SourceLine line) {
  return constant(std::vector<Half>{Half(static_cast<float>(number))}, {}, line);
}
template <>
inline Tensor scalar<BFloat16>(double number, SourceLine line) {
  return constant(std::vector<BFloat16>{BFloat16(static_cast<float>(number))}, {}, line);
}

/// A number as a tensor without dimensions, of an element type.
inline Tensor scalar_of(std::int32_t element_type, double number, SourceLine line) {
  using Make = Tensor (*)(double, SourceLine);
  const std::pair<std::int32_t, Make> makers[] = {
      {element_type_of<float>(), scalar<float>},
      {element_type_of<std::uint8_t>(), scalar<std::uint8_t>},
      {element_type_of<std::int8_t>(), scalar<std::int8_t>},
      {element_type_of<std::uint16_t>(), scalar<std::uint16_t>},
      {element_type_of<std::int16_t>(), scalar<std::int16_t>},
      {element_type_of<std::int32_t>(), scalar<std::int32_t>},
      {element_type_of<std::int64_t>(), scalar<std::int64_t>},
      {element_type_of<bool>(), scalar<bool>},
      {element_type_of<Half>(), scalar<Half>},
      {element_type_of<double>(), scalar<double>},
      {element_type_of<std::uint32_t>(), scalar<std::uint32_t>},
      {element_type_of<std::uint64_t>(), scalar<std::uint64_t>},
      {element_type_of<BFloat16>(), scalar<BFloat16>}};
  for (const auto& [type, make] : makers) {
    if (type == element_type) return make(number, line);
  }
  refuse(line, "a tensor of this element type takes no numbers beside it");
}

/// The tensors of operands of one element type; the last operand knows the line.
template <std::size_t N>
std::array<Tensor, N> tensors_of(const std::array<Operand, N>& operands) {
  const SourceLine line = operands.back().line;
  const auto* typed = std::find_if(operands.begin(), operands.end(),
                                   [](const Operand& operand) { return !operand.number; });
  if (typed == operands.end()) refuse(line, "one operand must be a tensor");
  std::array<Tensor, N> tensors;
  for (std::size_t i = 0; i < N; ++i) {
    const Operand& operand = operands[i];
    tensors[i] = operand.number ? scalar_of(typed->tensor.element_type(), *operand.number, line)
                                : operand.tensor;
  }
  return tensors;
}

inline Tensor binary(const char* kind, const Operand& a, const Operand& b) {
  const auto [x, y] = tensors_of<2>({a, b});
  return call({.kind = kind, .inputs = {x, y}}, b.line);
}

inline Tensor unary(const char* kind, const Operand& x, std::vector<Attribute> attributes = {}) {
  if (x.number) refuse(x.line, std::string(kind) + " takes a tensor, not a number");
  return call({.kind = kind, .inputs = {x.tensor}, .attributes = std::move(attributes)}, x.line);
}

}  // namespace detail

// Element by element, with the broadcast of ONNX and NumPy. Whole numbers divide to whole numbers.
inline Tensor operator+(const Operand& a, const Operand& b) { return detail::binary("Add", a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return detail::binary("Sub", a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return detail::binary("Mul", a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return detail::binary("Div", a, b); }
inline Tensor operator-(const Operand& x) { return detail::unary("Neg", x); }
// Tensors of bool.
inline Tensor operator<(const Operand& a, const Operand& b) { return detail::binary("Less", a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) {
  return detail::binary("Greater", a, b);
}
inline Tensor operator<=(const Operand& a, const Operand& b) {
  return detail::binary("LessOrEqual", a, b);
}
inline Tensor operator>=(const Operand& a, const Operand& b) {
  return detail::binary("GreaterOrEqual", a, b);
}
inline Tensor operator==(const Operand& a, const Operand& b) {
  return detail::binary("Equal", a, b);
}
/// Takes a Tensor: for an Operand the overload would be ambiguous with the built-in operator.
inline Tensor operator!(const Tensor& x) { return call({.kind = "Not", .inputs = {x}}, x.line()); }
inline Tensor operator!=(const Operand& a, const Operand& b) {
  return call({.kind = "Not", .inputs = {detail::binary("Equal", a, b)}}, b.line);
}
inline Tensor operator&(const Operand& a, const Operand& b) { return detail::binary("And", a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return detail::binary("Or", a, b); }

template <typename T>
Tensor Tensor::to(SourceLine line) const {
  return call({.kind = "Cast", .inputs = {*this}, .attributes = {{"to", element_type_of<T>()}}},
              line);
}

inline Tensor Tensor::reshape(std::vector<std::int64_t> dims, SourceLine line) const {
  return call({.kind = "Reshape", .inputs = {*this, detail::ints(dims, line)}}, line);
}
inline Tensor Tensor::flatten(std::int64_t axis, SourceLine line) const {
  return call({.kind = "Flatten", .inputs = {*this}, .attributes = {{"axis", axis}}}, line);
}
inline Tensor Tensor::transpose(std::vector<std::int64_t> axes, SourceLine line) const {
  if (axes.empty()) return call({.kind = "Transpose", .inputs = {*this}}, line);
  return call({.kind = "Transpose", .inputs = {*this}, .attributes = {{"perm", std::move(axes)}}},
              line);
}
inline Tensor Tensor::unsqueeze(std::vector<std::int64_t> axes, SourceLine line) const {
  return call({.kind = "Unsqueeze", .inputs = {*this, detail::ints(axes, line)}}, line);
}
inline Tensor Tensor::squeeze(std::vector<std::int64_t> axes, SourceLine line) const {
  return call({.kind = "Squeeze", .inputs = {*this, detail::ints(axes, line)}}, line);
}

inline Tensor Tensor::reduce(const char* kind, const std::vector<std::int64_t>& axes,
                             bool keeps_axes, SourceLine line) const {
  std::vector<Tensor> inputs = {*this};
  if (!axes.empty()) inputs.push_back(detail::ints(axes, line));
  return call({.kind = kind, .inputs = inputs, .attributes = {{"keepdims", keeps_axes ? 1 : 0}}},
              line);
}
inline Tensor Tensor::sum(std::vector<std::int64_t> axes, bool keeps_axes, SourceLine line) const {
  return reduce("ReduceSum", axes, keeps_axes, line);
}
inline Tensor Tensor::mean(std::vector<std::int64_t> axes, bool keeps_axes, SourceLine line) const {
  return reduce("ReduceMean", axes, keeps_axes, line);
}
inline Tensor Tensor::max(std::vector<std::int64_t> axes, bool keeps_axes, SourceLine line) const {
  return reduce("ReduceMax", axes, keeps_axes, line);
}
inline Tensor Tensor::min(std::vector<std::int64_t> axes, bool keeps_axes, SourceLine line) const {
  return reduce("ReduceMin", axes, keeps_axes, line);
}

inline Tensor Tensor::operator[](const Index& index) const {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> dropped;
  for (std::size_t i = 0; i < index.ranges.size(); ++i) {
    const Range& range = index.ranges[i];
    const auto axis = static_cast<std::int64_t>(i);
    if (range.step == 0) refuse(index.line, "the step of a slice is 0");
    if (range.drops_axis) {
      const std::int64_t size = dim(axis, index.line);
      if (size >= 0 && (*range.begin >= size || *range.begin < -size)) {
        refuse(index.line, "index " + std::to_string(*range.begin) + " is outside of " + type());
      }
      dropped.push_back(axis);
    } else if (!range.begin && !range.end && range.step == 1) {
      continue;
    }
    axes.push_back(axis);
    steps.push_back(range.step);
    begins.push_back(range.begin.value_or(range.step > 0 ? 0 : kLast));
    ends.push_back(range.drops_axis ? (*range.begin == -1 ? kLast : *range.begin + 1)
                                    : range.end.value_or(range.step > 0 ? kLast : kFirst));
  }
  if (axes.empty()) return *this;
  const Tensor part =
      call({.kind = "Slice",
            .inputs = {*this, detail::ints(begins, index.line), detail::ints(ends, index.line),
                       detail::ints(axes, index.line), detail::ints(steps, index.line)}},
           index.line);
  return dropped.empty() ? part : part.squeeze(dropped, index.line);
}

}  // namespace sluice::trace
