// What the neural-network kernels share: reading any numbers as one type, and refusing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/broadcast.h"
#include "reference/elements.h"
#include "reference/kernels.h"

namespace sluice::reference {

/// SLUICE_INVALID_ARGUMENT, `Conv: text`: the values or the shapes of this run do not fit.
Status refuse(const Call& call, const std::string& text);

/// SLUICE_FAILED_PRECONDITION, `Conv: text`: a type or an attribute of the model does not fit,
/// which no request can mend.
Status refuse_model(const Call& call, const std::string& text);

/// Ok if the tensor has these dimensions.
Status check_dims(const Call& call, const sluice_tensor& tensor, Dims expected, const char* name);

/// Ok if all present inputs and output 0 have this element type.
Status check_types(const Call& call, sluice_element_type type);

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
inline std::int64_t size_of(Dims dims) { return plugin::num_elements(dims); }
inline Dims input_dims(const Call& call, int input) { return plugin::dims_of(call.input(input)); }
inline Dims output_dims(const Call& call, int output) {
  return plugin::dims_of(call.output(output));
}

/// Into [0, rank); -1 if it is outside.
inline std::int64_t wrap_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return -1;
  return axis < 0 ? axis + signed_rank : axis;
}

/// All elements of a tensor of numbers, small ones too, or bools; empty if it is absent or of
/// another type, so that whoever compares sizes finds out.
std::vector<double> read_doubles(const sluice_tensor& tensor);
std::vector<std::int64_t> read_ints(const sluice_tensor& tensor);

/// Writes `values` to an output. Floats are rounded to the element type. Integers are truncated as
/// in a cast, and values out of range become the nearest integer in range.
/// Fails: SLUICE_INVALID_ARGUMENT  there are not as many values as elements
///        SLUICE_UNIMPLEMENTED     the type is not numeric
Status write_doubles(const Call& call, int output, std::span<const double> values);

/// Elements of a tensor of type `T` as the type to compute in, without a copy where they are it.
template <typename T>
class Loaded {
 public:
  explicit Loaded(const sluice_tensor& tensor) {
    if (tensor.element_type != element_type_of<T>()) return;
    const auto own = plugin::elements<const T>(tensor);
    if constexpr (std::is_same_v<T, Compute<T>>) {
      values_ = own;
    } else {
      converted_.assign(own.begin(), own.end());
      values_ = converted_;
    }
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  /// Empty if the tensor is absent or of another type.
  std::span<const Compute<T>> values() const { return values_; }

 private:
  std::vector<Compute<T>> converted_;
  std::span<const Compute<T>> values_;
};

/// Requires: as many values as elements.
template <typename T>
void store(const sluice_tensor& tensor, std::span<const Compute<T>> values) {
  const auto target = plugin::elements<T>(tensor);
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<T>(values[i]);
}

}  // namespace sluice::reference
