// A copy of a tensor with elements replaced, or combined, by index. Every index is checked.
#include <algorithm>
#include <functional>

#include "reference/arithmetic.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

/// Writes `count` updates from `from` on over output elements from `to` on.
using Combine = std::function<void(std::int64_t from, std::int64_t to, std::int64_t count)>;

template <typename T>
T combine_elements(std::string_view reduction, T old, T update) {
  if constexpr (contains(kComplex, element_type_of<T>())) {
    return reduction == "add" ? old + update : old * update;
  } else if constexpr (std::is_same_v<T, bool>) {
    return reduction == "add" || reduction == "max" ? old || update : old && update;
  } else {
    if (reduction == "add") return add(old, update);
    if (reduction == "mul") return multiply(old, update);
    return reduction == "max" ? largest(old, update) : smallest(old, update);
  }
}

/// How updates meet what is there. Borrows from `call`.
Status combiner_of(const Call& call, Combine* combine) {
  const std::string_view reduction = call.attributes().get_text("reduction", "none");
  if (reduction == "none") {
    *combine = [mover = Mover(call.input(2), call.output(0))](std::int64_t from, std::int64_t to,
                                                              std::int64_t count) {
      mover.copy(from, to, count);
    };
    return plugin::ok();
  }
  return dispatch(kNumbersAndBool + kComplex, call.input(0).element_type, [&]<typename T>() {
    const auto updates = call.input_elements<T>(2);
    const auto y = call.output_elements<T>(0);
    *combine = [=](std::int64_t from, std::int64_t to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        T& element = y[static_cast<std::size_t>(to + i)];
        const T& update = updates[static_cast<std::size_t>(from + i)];
        element = combine_elements<Compute<T>>(reduction, element, update);
      }
    };
    return plugin::ok();
  });
}

void copy_data(const Call& call) {
  const Mover mover(call.input(0), call.output(0));
  // The output may lie in the data's memory, which then has the elements already.
  if (call.input(0).data != call.output(0).data) {
    mover.copy(0, 0, plugin::num_elements(call.input(0)));
  }
}

Status check_scatter(const sluice_op& op) {
  const std::string_view reduction = plugin::Attributes(op).get_text("reduction", "none");
  if (reduction != "none") {
    const bool has_order = reduction == "max" || reduction == "min";
    Status status = has_order ? check_type(op, 0, kNumbersAndBool)
                              : check_type(op, 0, kNumbersAndBool + kComplex);
    if (!status.is_ok()) return status;
    if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min") {
      return refuse(op, "reduction must be none, add, mul, max or min");
    }
  }
  if (op.inputs[0].tensor.element_type != op.inputs[2].tensor.element_type) {
    return refuse(op, "data and updates have different element types");
  }
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_movable(op, 0) : status;
}

Status run_scatter_elements(const Call& call) {
  const Dims data = dims_of(call.input(0));
  const Dims dims = dims_of(call.input(1));
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), call.attributes().get_int("axis"), data.size(), &axis);
  if (status.is_ok()) status = expect_dims(call, 0, data);
  if (!status.is_ok()) return status;
  bool fits = dims.size() == data.size() && std::ranges::equal(dims, dims_of(call.input(2)));
  for (std::size_t d = 0; fits && d < data.size(); ++d) fits = d == axis || dims[d] <= data[d];
  if (!fits) return refuse(call.op(), "indices and updates do not fit data");
  Combine combine;
  status = combiner_of(call, &combine);
  if (!status.is_ok()) return status;
  copy_data(call);
  const Ints strides = strides_of(data);
  const Ints indices = read_integers(call.input(1));
  return try_each_index(dims, [&](std::int64_t i, Dims index) {
    std::int64_t along = 0;
    Status found = normalize_index(indices[static_cast<std::size_t>(i)], axis, data[axis], &along);
    if (!found.is_ok()) return found;
    // Index along the axis instead of the place along it.
    std::int64_t to = (along - index[axis]) * strides[axis];
    for (std::size_t d = 0; d < data.size(); ++d) to += index[d] * strides[d];
    combine(i, to, 1);
    return plugin::ok();
  });
}

Status run_scatter_nd(const Call& call) {
  const Dims data = dims_of(call.input(0));
  const Dims dims = dims_of(call.input(1));
  if (dims.empty() || dims.back() < 0 || dims.back() > static_cast<std::int64_t>(data.size())) {
    return refuse(call.op(), "indices have more coordinates than data has dimensions");
  }
  const auto depth = static_cast<std::size_t>(dims.back());
  const Dims slice = data.subspan(depth);
  Ints expected(dims.begin(), dims.end() - 1);
  expected.insert(expected.end(), slice.begin(), slice.end());
  if (!std::ranges::equal(expected, dims_of(call.input(2)))) {
    return refuse(call.op(), "updates do not fit indices and data");
  }
  Combine combine;
  Status status = expect_dims(call, 0, data);
  if (status.is_ok()) status = combiner_of(call, &combine);
  if (!status.is_ok()) return status;
  copy_data(call);
  const Ints strides = strides_of(data);
  const Ints indices = read_integers(call.input(1));
  return try_each_index(dims.first(dims.size() - 1), [&](std::int64_t i, Dims /*index*/) {
    std::int64_t to = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      std::int64_t along = 0;
      Status found =
          normalize_index(indices[static_cast<std::size_t>(i) * depth + k], k, data[k], &along);
      if (!found.is_ok()) return found;
      to += along * strides[k];
    }
    combine(i * product(slice), to, product(slice));
    return plugin::ok();
  });
}

/// Where along the axis each batch entry's update starts: 0 without write_indices.
Status write_positions(const Call& call, std::int64_t batches, Ints* positions) {
  *positions =
      call.has_input(2) ? read_integers(call.input(2)) : Ints(static_cast<std::size_t>(batches), 0);
  if (static_cast<std::int64_t>(positions->size()) == batches) return plugin::ok();
  return refuse(call.op(), "write_indices must have one entry for each batch entry");
}

Status run_tensor_scatter(const Call& call) {
  const Dims cache = dims_of(call.input(0));
  const Dims update = dims_of(call.input(1));
  std::size_t axis = 0;
  Status status =
      normalize_axis(call.op(), call.attributes().get_int("axis", -2), cache.size(), &axis);
  if (status.is_ok()) status = expect_dims(call, 0, cache);
  if (!status.is_ok()) return status;
  bool fits = axis > 0 && update.size() == cache.size();
  for (std::size_t d = 0; fits && d < cache.size(); ++d) {
    fits = d == axis ? update[d] <= cache[d] : update[d] == cache[d];
  }
  if (!fits) return refuse(call.op(), "the update does not fit the cache");
  Ints positions;
  status = write_positions(call, cache[0], &positions);
  if (!status.is_ok()) return status;
  copy_data(call);
  const bool is_circular = call.attributes().get_text("mode", "linear") == "circular";
  const AxisView whole(cache, axis);
  const AxisView part(update, axis);
  // Entries of one batch element lie next to one another.
  const std::int64_t outer_per_batch = cache[0] == 0 ? 0 : whole.outer / cache[0];
  const Mover mover(call.input(1), call.output(0));
  for (std::int64_t outer = 0; outer < whole.outer; ++outer) {
    const std::int64_t start = positions[static_cast<std::size_t>(outer / outer_per_batch)];
    for (std::int64_t k = 0; k < part.size; ++k) {
      if (start < 0 || (!is_circular && start > whole.size - part.size)) {
        return {SLUICE_OUT_OF_RANGE, "an update of " + std::to_string(part.size) + " at index " +
                                         std::to_string(start) + " is outside axis " +
                                         std::to_string(axis) + ", which has " +
                                         std::to_string(whole.size)};
      }
      const std::int64_t position = (start % whole.size + k) % whole.size;
      mover.copy((outer * part.size + k) * part.inner,
                 (outer * whole.size + position) * whole.inner, whole.inner);
    }
  }
  return plugin::ok();
}

Status check_tensor_scatter(const sluice_op& op) {
  if (op.inputs[0].tensor.element_type != op.inputs[1].tensor.element_type) {
    return refuse(op, "cache and update have different element types");
  }
  Status status = check_type(op, 2, kIndices);
  return status.is_ok() ? check_movable(op, 0) : status;
}

KernelEntry scatter(const char* kind, Status (*run)(const Call&)) {
  return {.kind = kind, .run = run, .check = check_scatter, .num_required_inputs = 3};
}

}  // namespace

std::vector<KernelEntry> scatter_kernels() {
  return {
      scatter("Scatter", run_scatter_elements),
      scatter("ScatterElements", run_scatter_elements),
      scatter("ScatterND", run_scatter_nd),
      {.kind = "TensorScatter",
       .run = run_tensor_scatter,
       .check = check_tensor_scatter,
       .num_required_inputs = 2},
  };
}

}  // namespace sluice::reference
