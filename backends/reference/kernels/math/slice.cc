// A box cut from a tensor.
#include <algorithm>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

struct Cut {
  std::int64_t start, step, count;
};

/// Negative positions count from the end, and all are clamped to the dimension: a start to an
/// element, or past the last where the step is forward; an end to one past either end.
Cut clamp_cut(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (dim == 0) return {0, 1, 0};
  const auto from_end = [dim](std::int64_t position) {
    return position < 0 ? std::max(position, -dim - 1) + dim : position;
  };
  const bool is_forward = step > 0;
  const std::int64_t lowest = is_forward ? 0 : -1;
  const std::int64_t highest = is_forward ? dim : dim - 1;
  start = std::clamp(from_end(start), std::int64_t{0}, highest);
  end = std::clamp(from_end(end), lowest, highest);
  // No step is usefully longer than the dimension, and short ones cannot overflow.
  step = std::clamp(step, -dim - 1, dim + 1);
  std::int64_t count = 0;
  if (is_forward && end > start) count = (end - start - 1) / step + 1;
  if (!is_forward && start > end) count = (start - end - 1) / -step + 1;
  return {start, step, count};
}

Status read_cuts(const Call& call, std::vector<Cut>* cuts) {
  const Dims dims = dims_of(call.input(0));
  const Ints starts = read_integers(call.input(1));
  const Ints ends = read_integers(call.input(2));
  const Ints axes = read_integers(call.input(3));
  const Ints steps = read_integers(call.input(4));
  const auto fits = [&](int input, const Ints& values) {
    return !call.has_input(input) || values.size() == starts.size();
  };
  if (ends.size() != starts.size() || !fits(3, axes) || !fits(4, steps)) {
    return refuse(call.op(), "starts, ends, axes and steps have different lengths");
  }
  for (const std::int64_t dim : dims) cuts->push_back({0, 1, dim});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::size_t axis = 0;
    const auto given = call.has_input(3) ? axes[i] : static_cast<std::int64_t>(i);
    Status status = normalize_axis(call.op(), given, dims.size(), &axis);
    if (!status.is_ok()) return status;
    const std::int64_t step = call.has_input(4) ? steps[i] : 1;
    if (step == 0) return refuse(call.op(), "a step is 0");
    (*cuts)[axis] = clamp_cut(dims[axis], starts[i], ends[i], step);
  }
  return plugin::ok();
}

Status run_slice(const Call& call) {
  std::vector<Cut> cuts;
  if (Status status = read_cuts(call, &cuts); !status.is_ok()) return status;
  Ints expected;
  for (const Cut& cut : cuts) expected.push_back(cut.count);
  if (Status status = expect_dims(call, 0, expected); !status.is_ok()) return status;
  const Ints strides = strides_of(dims_of(call.input(0)));
  const Mover mover(call.input(0), call.output(0));
  for_each_index(expected, [&](std::int64_t i, Dims index) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      from += (cuts[d].start + index[d] * cuts[d].step) * strides[d];
    }
    mover.copy(from, i);
  });
  return plugin::ok();
}

Status check_slice(const sluice_op& op) {
  for (int i = 1; i < op.num_inputs; ++i) {
    if (Status status = check_type(op, i, kIndices); !status.is_ok()) return status;
  }
  return check_movable(op, 0);
}

}  // namespace

std::vector<KernelEntry> slice_kernels() {
  return {{.kind = "Slice", .run = run_slice, .check = check_slice, .num_required_inputs = 3}};
}

}  // namespace sluice::reference
