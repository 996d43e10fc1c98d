#include "reference/kernels/support.h"

#include <cmath>
#include <limits>

#include "reference/small_elements.h"

namespace sluice::reference {
namespace {

template <typename To>
std::vector<To> read_as(const sluice_tensor& tensor) {
  std::vector<To> values;
  const Status status = dispatch(kNumbersAndBool, tensor.element_type, [&]<typename T>() {
    for (const T element : plugin::elements<const T>(tensor)) {
      values.push_back(static_cast<To>(static_cast<Compute<T>>(element)));
    }
    return plugin::ok();
  });
  return status.is_ok() ? values : std::vector<To>();
}

/// `value` as a `T`; what an integer cannot hold becomes its nearest, NaN 0.
template <typename T>
T narrowed(double value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kLowest = std::numeric_limits<T>::lowest();
    constexpr auto kLargest = std::numeric_limits<T>::max();
    if (std::isnan(value)) return 0;
    // Compared as doubles: a cast of what does not fit is undefined.
    if (value <= static_cast<double>(kLowest)) return kLowest;
    if (value >= static_cast<double>(kLargest)) return kLargest;
  }
  return static_cast<T>(static_cast<Compute<T>>(value));
}

}  // namespace

Status refuse(const Call& call, const std::string& text) { return refuse(call.op(), text); }

Status refuse_model(const Call& call, const std::string& text) {
  return {SLUICE_FAILED_PRECONDITION, plugin::describe(call.op()) + ": " + text};
}

Status check_dims(const Call& call, const sluice_tensor& tensor, Dims expected, const char* name) {
  const Dims dims = plugin::dims_of(tensor);
  if (std::ranges::equal(dims, expected)) return plugin::ok();
  return refuse(call, std::string(name) + " has dimensions " + plugin::to_string(dims) +
                          "; expected " + plugin::to_string(expected));
}

Status check_types(const Call& call, sluice_element_type type) {
  bool is_fit = call.output(0).element_type == type;
  for (int i = 0; i < call.num_inputs(); ++i) {
    is_fit = is_fit && (!call.has_input(i) || call.input(i).element_type == type);
  }
  return is_fit ? plugin::ok() : refuse_model(call, "its operands must have the same element type");
}

std::vector<double> read_doubles(const sluice_tensor& tensor) {
  return is_small(tensor.element_type) ? read_small(tensor) : read_as<double>(tensor);
}

std::vector<std::int64_t> read_ints(const sluice_tensor& tensor) {
  const bool is_float = contains(kFloats, tensor.element_type);
  return is_float ? std::vector<std::int64_t>() : read_as<std::int64_t>(tensor);
}

Status write_doubles(const Call& call, int output, std::span<const double> values) {
  const sluice_tensor& tensor = call.output(output);
  if (static_cast<std::int64_t>(values.size()) != plugin::num_elements(tensor)) {
    return refuse(call, "output " + std::to_string(output) + " has dimensions " +
                            plugin::to_string(plugin::dims_of(tensor)) + "; the result has " +
                            std::to_string(values.size()) + " elements");
  }
  return dispatch(kNumbersAndBool, tensor.element_type, [&]<typename T>() {
    const auto target = plugin::elements<T>(tensor);
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = narrowed<T>(values[i]);
    return plugin::ok();
  });
}

}  // namespace sluice::reference
