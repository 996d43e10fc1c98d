// Tensors of a trace: they have a type and no elements. Operators, indexing and shapes; functions
// of tensors are in `sluice/trace/functions.hpp`.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sluice/element_types.hpp"
#include "sluice/trace/recording.hpp"

namespace sluice::trace {

class Parameter;
struct Index;

/// A value of the trace under way. Cheap to copy; of no use after it.
class Tensor {
 public:
  Tensor() = default;  ///< absent: an optional input that is left out

  /// "f32[N,3,224,224]"
  std::string type() const { return describe().type; }
  /// A number of ONNX's TensorProto.DataType, as element_type_of<T>().
  std::int32_t element_type() const { return describe().element_type; }
  /// -1 where even the rank is unknown.
  std::int32_t rank() const { return describe().rank; }
  /// -1 where the dimension varies. Axes count from the end below 0.
  std::int64_t dim(std::int64_t axis, SourceLine line = SourceLine::current()) const;
  std::vector<std::int64_t> dims() const;

  /// Elements as Python's x[...]: numbers drop their axis, `slice(1, 3)` and `all` keep it.
  Tensor operator[](const Index& index) const;

  /// Elements of type T.
  template <typename T>
  Tensor to(SourceLine line = SourceLine::current()) const;

  /// A dimension of 0 keeps that of the tensor; -1, at most once, takes the remaining elements.
  Tensor reshape(std::vector<std::int64_t> dims, SourceLine line = SourceLine::current()) const;
  /// A matrix: dimensions before `axis`, and the rest.
  Tensor flatten(std::int64_t axis = 1, SourceLine line = SourceLine::current()) const;
  /// Without axes: reversed.
  Tensor transpose(std::vector<std::int64_t> axes = {},
                   SourceLine line = SourceLine::current()) const;
  Tensor unsqueeze(std::vector<std::int64_t> axes, SourceLine line = SourceLine::current()) const;
  Tensor squeeze(std::vector<std::int64_t> axes, SourceLine line = SourceLine::current()) const;

  /// Over `axes`, all without.
  Tensor sum(std::vector<std::int64_t> axes = {}, bool keeps_axes = false,
             SourceLine line = SourceLine::current()) const;
  Tensor mean(std::vector<std::int64_t> axes = {}, bool keeps_axes = false,
              SourceLine line = SourceLine::current()) const;
  Tensor max(std::vector<std::int64_t> axes = {}, bool keeps_axes = false,
             SourceLine line = SourceLine::current()) const;
  Tensor min(std::vector<std::int64_t> axes = {}, bool keeps_axes = false,
             SourceLine line = SourceLine::current()) const;

  /// Refused: a trace takes one way, whatever the elements will be.
  explicit operator bool() const;

  /// The line that computed it; empty for inputs and constants.
  SourceLine line() const { return detail::Recording::current({}).line_of(value({})); }

  /// The value in the C interface. Refuses a tensor of another trace.
  sluice_value value(SourceLine line = SourceLine::current()) const {
    if (recording_ == 0) return SLUICE_VALUE_ABSENT;
    if (detail::Recording::current(line).number() != recording_) {
      refuse(line, "a tensor of another trace is used; record it here, or make it a parameter");
    }
    return value_;
  }
  static Tensor of(sluice_value value, SourceLine line = SourceLine::current()) {
    Tensor tensor;
    tensor.recording_ = detail::Recording::current(line).number();
    tensor.value_ = value;
    return tensor;
  }

 private:
  const sluice_tensor_spec& describe() const {
    if (recording_ == 0) refuse({}, "an absent tensor has no type");
    return detail::Recording::current({}).describe(value({}));
  }
  Tensor reduce(const char* kind, const std::vector<std::int64_t>& axes, bool keeps_axes,
                SourceLine line) const;

  std::uint64_t recording_ = 0;  // 0: absent
  sluice_value value_ = SLUICE_VALUE_ABSENT;
};

/// Weights of a program. A trace holds the elements that they have then. Lives longer than the
/// trace.
class Parameter {
 public:
  /// Zeros. Requires: dimensions of at least 0.
  explicit Parameter(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {
    std::size_t size = 1;
    for (const std::int64_t dim : dims_) size *= static_cast<std::size_t>(dim);
    values_.resize(size);
  }
  Parameter(std::vector<std::int64_t> dims, std::vector<float> values)
      : dims_(std::move(dims)), values_(std::move(values)) {}

  std::span<const std::int64_t> dims() const { return dims_; }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// One constant in each trace.
  Tensor tensor(SourceLine line = SourceLine::current()) const {
    sluice_value& value = detail::Recording::current(line).value_of(this);
    if (value == SLUICE_VALUE_ABSENT) value = record(line);
    return Tensor::of(value, line);
  }
  operator Tensor() const { return tensor({}); }  // NOLINT(google-explicit-constructor)

 private:
  sluice_value record(SourceLine line) const {
    const auto size_bytes = static_cast<std::int64_t>(values_.size() * sizeof(float));
    const sluice_array array = {const_cast<float*>(values_.data()), size_bytes,
                                element_type_of<float>(), static_cast<std::int32_t>(dims_.size()),
                                dims_.data()};
    return detail::Recording::current(line).constant(name_, array, line);
  }

  std::vector<std::int64_t> dims_;
  std::vector<float> values_;
  std::string name_;
};

/// What functions take: a tensor, a parameter, or a number, which gets the element type of the
/// tensor beside it. Knows the line where it was passed.
struct Operand {
  Operand(const Tensor& given, SourceLine at = SourceLine::current()) : tensor(given), line(at) {}
  Operand(const Parameter& given, SourceLine at = SourceLine::current())
      : tensor(given.tensor(at)), line(at) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Operand(T given, SourceLine at = SourceLine::current())
      : number(static_cast<double>(given)), is_whole(std::is_integral_v<T>), line(at) {}

  Tensor tensor = {};
  std::optional<double> number = {};
  bool is_whole = false;
  SourceLine line = {};
};

/// An attribute of an operator, as ONNX has them.
struct Attribute {
  template <std::integral T>
  Attribute(const char* given, T value) : name(given), ints{static_cast<std::int64_t>(value)} {}
  Attribute(const char* given, float value)
      : name(given), kind(SLUICE_ATTRIBUTE_FLOAT), floats{value} {}
  Attribute(const char* given, std::string value)
      : name(given), kind(SLUICE_ATTRIBUTE_TEXT), text(std::move(value)) {}
  Attribute(const char* given, std::vector<std::int64_t> values)
      : name(given), kind(SLUICE_ATTRIBUTE_INTS), ints(std::move(values)) {}
  Attribute(const char* given, std::vector<float> values)
      : name(given), kind(SLUICE_ATTRIBUTE_FLOATS), floats(std::move(values)) {}

  std::string name;
  std::int32_t kind = SLUICE_ATTRIBUTE_INT;
  std::vector<std::int64_t> ints = {};
  std::vector<float> floats = {};
  std::string text = {};
};

/// Any operator of ONNX or of the program: what `functions.hpp` has no function for.
struct Call {
  const char* kind;
  std::vector<Tensor> inputs;
  std::vector<Attribute> attributes = {};
  const char* domain = "";
  int num_outputs = 1;
};

std::vector<Tensor> call_all(const Call& call, SourceLine line = SourceLine::current());

/// As above, with one output.
inline Tensor call(const Call& call, SourceLine line = SourceLine::current()) {
  return call_all(call, line).front();
}

/// A tensor that is known now.
template <typename T>
Tensor constant(const std::vector<T>& values, const std::vector<std::int64_t>& dims,
                SourceLine line = SourceLine::current()) {
  const sluice_array array = {
      const_cast<T*>(values.data()), static_cast<std::int64_t>(values.size() * sizeof(T)),
      element_type_of<T>(), static_cast<std::int32_t>(dims.size()), dims.data()};
  return Tensor::of(detail::Recording::current(line).constant("", array, line), line);
}

/// Which elements of an axis.
struct Range {
  std::optional<std::int64_t> begin = {};
  std::optional<std::int64_t> end = {};
  std::int64_t step = 1;
  bool drops_axis = false;

  Range() = default;
  template <std::integral T>
  Range(T at) : begin(static_cast<std::int64_t>(at)), drops_axis(true) {}
  Range(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t by)
      : begin(from), end(to), step(by) {}
};
inline const Range all = {};
/// Python's begin:end:step; nullopt leaves out a bound.
inline Range slice(std::optional<std::int64_t> begin, std::optional<std::int64_t> end = {},
                   std::int64_t step = 1) {
  return {begin, end, step};
}

/// A range for each axis from the first on.
struct Index {
  template <std::integral T>
  Index(T at, SourceLine given = SourceLine::current()) : ranges{Range(at)}, line(given) {}
  Index(const Range& range, SourceLine given = SourceLine::current())
      : ranges{range}, line(given) {}
  Index(std::initializer_list<Range> given, SourceLine at = SourceLine::current())
      : ranges(given), line(at) {}

  std::vector<Range> ranges;
  SourceLine line;
};

}  // namespace sluice::trace

#include "sluice/trace/tensor_inline.hpp"
