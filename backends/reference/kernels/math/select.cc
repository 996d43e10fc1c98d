// Results whose size depends on the elements: Compress, NonZero, Unique.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

/// All that can be told apart. 0, false and "" are nothing.
constexpr auto kComparable = kNumbersAndBool + kTexts + kComplex;

/// The tensor around the attribute `axis`, or flat without one.
Status selection_view(const Call& call, AxisView* view, std::size_t* axis) {
  const Dims dims = dims_of(call.input(0));
  const plugin::Attributes attributes = call.attributes();
  if (attributes.find("axis", SLUICE_ATTRIBUTE_INT) == nullptr) {
    *view = AxisView(Ints{plugin::num_elements(dims)}, 0);
    return plugin::ok();
  }
  Status status = normalize_axis(call.op(), attributes.get_int("axis"), dims.size(), axis);
  if (status.is_ok()) *view = AxisView(dims, *axis);
  return status;
}

/// Copies the slices `chosen` of the view, packed, and tells the dimensions.
Status write_slices(const Call& call, const AxisView& view, std::size_t axis, const Ints& chosen) {
  const auto count = static_cast<std::int64_t>(chosen.size());
  const bool is_flat = call.attributes().find("axis", SLUICE_ATTRIBUTE_INT) == nullptr;
  const Dims input = dims_of(call.input(0));
  Ints dims = is_flat ? Ints{count} : Ints(input.begin(), input.end());
  if (!is_flat) dims[axis] = count;
  const Dims room = dims_of(call.output(0));
  const bool fits = std::ranges::equal(dims, room, std::less_equal<>());
  if (!fits) return refuse(call.op(), "the output is too small");
  const Mover mover(call.input(0), call.output(0));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (std::int64_t k = 0; k < count; ++k) {
      mover.copy((outer * view.size + chosen[static_cast<std::size_t>(k)]) * view.inner,
                 (outer * count + k) * view.inner, view.inner);
    }
  }
  call.set_actual_dims(0, dims);
  return plugin::ok();
}

Status check_compress(const sluice_op& op) {
  Status status = check_type(op, 1, kBools);
  return status.is_ok() ? check_movable(op, 0) : status;
}

Status run_compress(const Call& call) {
  AxisView view(Ints{0}, 0);
  std::size_t axis = 0;
  if (Status status = selection_view(call, &view, &axis); !status.is_ok()) return status;
  const auto condition = call.input_elements<Bool>(1);
  Ints chosen;
  for (std::int64_t k = 0; k < view.size && k < std::ssize(condition); ++k) {
    if (condition[static_cast<std::size_t>(k)]) chosen.push_back(k);
  }
  return write_slices(call, view, axis, chosen);
}

Status run_nonzero(const Call& call) {
  const Dims input = dims_of(call.input(0));
  const Ints dims = input.empty() ? Ints{1} : Ints(input.begin(), input.end());
  std::vector<Ints> coordinates(dims.size());
  Status status = dispatch(kComparable, call.input(0).element_type, [&]<typename T>() {
    const auto x = call.input_elements<T>(0);
    for_each_index(dims, [&](std::int64_t i, Dims index) {
      if (static_cast<Compute<T>>(x[static_cast<std::size_t>(i)]) == Compute<T>{}) return;
      for (std::size_t d = 0; d < dims.size(); ++d) coordinates[d].push_back(index[d]);
    });
    return plugin::ok();
  });
  if (!status.is_ok()) return status;
  const auto y = call.output_elements<std::int64_t>(0);
  const std::size_t count = coordinates[0].size();
  const Ints found = {std::ssize(coordinates), static_cast<std::int64_t>(count)};
  const bool fits = std::ranges::equal(found, dims_of(call.output(0)), std::less_equal<>());
  if (!fits) return refuse(call.op(), "the output is too small");
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::ranges::copy(coordinates[d], y.begin() + static_cast<std::ptrdiff_t>(d * count));
  }
  call.set_actual_dims(0, found);
  return plugin::ok();
}

Status check_nonzero(const sluice_op& op) {
  if (op.outputs[0].tensor.element_type != plugin::kI64) return refuse(op, "the output is of i64");
  return check_type(op, 0, kComparable);
}

/// Slices of a view, compared element by element.
template <typename T>
class Slices {
 public:
  Slices(std::span<const T> elements, const AxisView& view) : elements_(elements), view_(view) {}

  /// Below, equal or above 0. A NaN is above all numbers and like no other NaN.
  int compare(std::int64_t a, std::int64_t b) const {
    for (std::int64_t outer = 0; outer < view_.outer; ++outer) {
      for (std::int64_t inner = 0; inner < view_.inner; ++inner) {
        const auto left = at(outer, a, inner);
        const auto right = at(outer, b, inner);
        if (left == right) continue;
        if (is_nan(left) || is_nan(right)) {
          if (is_nan(left) && is_nan(right)) return a < b ? -1 : a > b ? 1 : 0;
          return is_nan(left) ? 1 : -1;
        }
        return is_less(left, right) ? -1 : 1;
      }
    }
    return 0;
  }

 private:
  static bool is_nan(Compute<T> value) { return value != value; }
  /// Complex numbers by their real parts, then by the imaginary ones; strings by their bytes.
  static bool is_less(Compute<T> a, Compute<T> b) {
    if constexpr (contains(kComplex, element_type_of<T>())) {
      return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
    } else {
      return a < b;
    }
  }
  Compute<T> at(std::int64_t outer, std::int64_t k, std::int64_t inner) const {
    return elements_[static_cast<std::size_t>((outer * view_.size + k) * view_.inner + inner)];
  }

  std::span<const T> elements_;
  const AxisView& view_;
};

struct Distinct {
  Ints first;    ///< of each distinct slice: where it occurs first
  Ints inverse;  ///< of each slice: which distinct one it is
  Ints counts;
};

template <typename T>
Distinct find_distinct(const Slices<T>& slices, std::int64_t size, bool is_sorted) {
  Ints order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  // Stable, so that of equal slices the first comes first.
  std::ranges::stable_sort(order, [&](auto a, auto b) { return slices.compare(a, b) < 0; });
  Ints first;  // in the order of values; equal ones stand together, the earliest first
  Ints group(order.size(), 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || slices.compare(order[k - 1], order[k]) != 0) first.push_back(order[k]);
    group[static_cast<std::size_t>(order[k])] = std::ssize(first) - 1;
  }
  Ints groups(first.size());
  std::iota(groups.begin(), groups.end(), 0);
  if (!is_sorted) {
    // Groups in the order in which they first occur, where the order of values is not wanted.
    std::ranges::sort(groups, {}, [&](auto g) { return first[static_cast<std::size_t>(g)]; });
  }
  Ints rank(groups.size());
  Distinct result{{}, Ints(group.size()), Ints(groups.size(), 0)};
  for (std::size_t r = 0; r < groups.size(); ++r) {
    rank[static_cast<std::size_t>(groups[r])] = static_cast<std::int64_t>(r);
    result.first.push_back(first[static_cast<std::size_t>(groups[r])]);
  }
  for (std::size_t k = 0; k < group.size(); ++k) {
    result.inverse[k] = rank[static_cast<std::size_t>(group[k])];
    ++result.counts[static_cast<std::size_t>(result.inverse[k])];
  }
  return result;
}

Status write_positions(const Call& call, int output, const Ints& values) {
  if (!call.has_output(output)) return plugin::ok();
  const auto y = call.output_elements<std::int64_t>(output);
  if (dims_of(call.output(output)).size() != 1 || y.size() < values.size()) {
    return refuse(call.op(), "an output is too small");
  }
  std::ranges::copy(values, y.begin());
  call.set_actual_dims(output, Ints{std::ssize(values)});
  return plugin::ok();
}

Status run_unique(const Call& call) {
  AxisView view(Ints{0}, 0);
  std::size_t axis = 0;
  if (Status status = selection_view(call, &view, &axis); !status.is_ok()) return status;
  const bool is_sorted = call.attributes().get_int("sorted", 1) != 0;
  Distinct distinct;
  Status status = dispatch(kComparable, call.input(0).element_type, [&]<typename T>() {
    const Slices<T> slices(call.input_elements<T>(0), view);
    distinct = find_distinct(slices, view.size, is_sorted);
    return plugin::ok();
  });
  if (status.is_ok() && call.has_output(0)) {
    status = write_slices(call, view, axis, distinct.first);
  }
  if (status.is_ok()) status = write_positions(call, 1, distinct.first);
  if (status.is_ok()) status = write_positions(call, 2, distinct.inverse);
  return status.is_ok() ? write_positions(call, 3, distinct.counts) : status;
}

Status check_unique(const sluice_op& op) {
  for (int i = 1; i < op.num_outputs; ++i) {
    const sluice_element_type type = op.outputs[i].tensor.element_type;
    if (type != plugin::kAbsent && type != plugin::kI64) return refuse(op, "positions are of i64");
  }
  Status status = check_type(op, 0, kComparable);
  return status.is_ok() ? check_movable(op, 0) : status;
}

}  // namespace

std::vector<KernelEntry> select_kernels() {
  return {
      {.kind = "Compress", .run = run_compress, .check = check_compress, .num_required_inputs = 2},
      {.kind = "NonZero", .run = run_nonzero, .check = check_nonzero},
      {.kind = "Unique", .run = run_unique, .check = check_unique},
  };
}

}  // namespace sluice::reference
