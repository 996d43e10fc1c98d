// Elements selected by index. Kernels check every index before use.
#include <algorithm>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

Status check_gather(const sluice_op& op) {
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_movable(op, 0) : status;
}

Status run_gather(const Call& call) {
  const Dims data = dims_of(call.input(0));
  const Dims indices_dims = dims_of(call.input(1));
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), call.attributes().get_int("axis"), data.size(), &axis);
  if (!status.is_ok()) return status;
  Ints expected(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  expected.insert(expected.end(), indices_dims.begin(), indices_dims.end());
  expected.insert(expected.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  status = expect_dims(call, 0, expected);
  if (!status.is_ok()) return status;

  const AxisView view(data, axis);
  const Ints indices = read_integers(call.input(1));
  const auto count = static_cast<std::int64_t>(indices.size());
  const Mover mover(call.input(0), call.output(0));
  // The indices are the outer loop: each is checked once for all outer places.
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t index = 0;
    status = normalize_index(indices[static_cast<std::size_t>(i)], axis, view.size, &index);
    if (!status.is_ok()) return status;
    for (std::int64_t outer = 0; outer < view.outer; ++outer) {
      mover.copy((outer * view.size + index) * view.inner, (outer * count + i) * view.inner,
                 view.inner);
    }
  }
  return plugin::ok();
}

Status run_gather_elements(const Call& call) {
  const Dims data = dims_of(call.input(0));
  const Dims dims = dims_of(call.input(1));
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), call.attributes().get_int("axis"), data.size(), &axis);
  if (status.is_ok()) status = expect_dims(call, 0, dims);
  if (!status.is_ok()) return status;
  if (dims.size() != data.size()) return refuse(call.op(), "data and indices differ in rank");
  // Along the other axes a position is one in the data too.
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (d != axis && dims[d] > data[d]) return refuse(call.op(), "indices reach out of data");
  }
  const Ints strides = strides_of(data);
  const Ints indices = read_integers(call.input(1));
  const Mover mover(call.input(0), call.output(0));
  return try_each_index(dims, [&](std::int64_t i, Dims index) {
    std::int64_t along = 0;
    Status found = normalize_index(indices[static_cast<std::size_t>(i)], axis, data[axis], &along);
    if (!found.is_ok()) return found;
    // Index along the axis instead of the place along it.
    std::int64_t from = (along - index[axis]) * strides[axis];
    for (std::size_t d = 0; d < data.size(); ++d) from += index[d] * strides[d];
    mover.copy(from, i);
    return plugin::ok();
  });
}

Status run_gather_nd(const Call& call) {
  const Dims data = dims_of(call.input(0));
  const Dims dims = dims_of(call.input(1));
  const std::int64_t batch = call.attributes().get_int("batch_dims");
  const auto limit = static_cast<std::int64_t>(std::min(data.size(), dims.size()));
  if (batch < 0 || batch >= limit) return refuse(call.op(), "batch_dims is out of range");
  const auto num_batch = static_cast<std::size_t>(batch);
  const auto depth = static_cast<std::size_t>(std::max<std::int64_t>(dims.back(), 0));
  if (depth < 1 || depth > data.size() - num_batch) {
    return refuse(call.op(), "indices have more coordinates than data has dimensions");
  }
  if (!std::ranges::equal(data.first(num_batch), dims.first(num_batch))) {
    return refuse(call.op(), "data and indices have different batches");
  }
  const Dims slice = data.subspan(num_batch + depth);
  Ints expected(dims.begin(), dims.end() - 1);
  expected.insert(expected.end(), slice.begin(), slice.end());
  Status status = expect_dims(call, 0, expected);
  if (!status.is_ok()) return status;

  const Ints strides = strides_of(data);
  const Ints indices = read_integers(call.input(1));
  const Mover mover(call.input(0), call.output(0));
  return try_each_index(dims.first(dims.size() - 1), [&](std::int64_t i, Dims index) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < num_batch; ++d) from += index[d] * strides[d];
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t axis = num_batch + k;
      std::int64_t along = 0;
      Status found = normalize_index(indices[static_cast<std::size_t>(i) * depth + k], axis,
                                     data[axis], &along);
      if (!found.is_ok()) return found;
      from += along * strides[axis];
    }
    mover.copy(from, i * product(slice), product(slice));
    return plugin::ok();
  });
}

}  // namespace

std::vector<KernelEntry> gather_kernels() {
  return {
      {.kind = "Gather", .run = run_gather, .check = check_gather, .num_required_inputs = 2},
      {.kind = "GatherElements",
       .run = run_gather_elements,
       .check = check_gather,
       .num_required_inputs = 2},
      {.kind = "GatherND", .run = run_gather_nd, .check = check_gather, .num_required_inputs = 2},
  };
}

}  // namespace sluice::reference
