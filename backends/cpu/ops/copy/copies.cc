// Operators that only move elements: Transpose, Slice, Expand, Gather.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ops/copy/one_copy.h"
#include "ops/operands/checks.h"
#include "ops/operands/constants.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::Attributes;
using plugin::dims_of;
using plugin::unimplemented;

StridedCopy copy_to_output(const sluice_op& op, const Dims& from, Isa isa) {
  const sluice_tensor& out = op.outputs[0].tensor;
  return {dims_of(out), from, dense_strides(dims_of(out)), element_bytes(out), isa};
}

Status make_transpose(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  // The distances of a dense tensor. Without `perm` the axes are reversed.
  const Dims strides = [&] {
    Dims dense(dims_of(op.inputs[0].tensor).begin(), dims_of(op.inputs[0].tensor).end());
    std::int64_t distance = 1;
    for (std::size_t i = dense.size(); i-- > 0;) distance *= std::exchange(dense[i], distance);
    return dense;
  }();
  const auto perm = Attributes(op).get_ints("perm");
  Dims from(strides.rbegin(), strides.rend());
  if (perm.size() == strides.size()) {
    for (std::size_t i = 0; i < perm.size(); ++i) {
      from[i] = strides[static_cast<std::size_t>(perm[i])];
    }
  }
  *kernel = std::make_unique<OneCopy>(op, copy_to_output(op, from, isa));
  return plugin::ok();
}

Status check_transpose(const sluice_op& op) {
  const auto rank = static_cast<std::int64_t>(op.inputs[0].tensor.rank);
  if (op.outputs[0].tensor.rank != rank) return unimplemented("a result of another rank");
  for (const std::int64_t axis : Attributes(op).get_ints("perm")) {
    if (axis < 0 || axis >= rank) return plugin::invalid_argument("Transpose: perm out of range");
  }
  return check_movable(op);
}

Status make_expand(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto out = dims_of(op.outputs[0].tensor);
  const auto in = dims_of(op.inputs[0].tensor);
  if (!broadcasts_to(in, out)) return unimplemented("Expand to a smaller shape");
  *kernel = std::make_unique<OneCopy>(op, copy_to_output(op, broadcast_strides(in, out), isa));
  return plugin::ok();
}

Status check_slice(const sluice_op& op) {
  Dims values;
  for (int input = 1; input < op.num_inputs; ++input) {
    if (!constant_integers(op, input, &values)) return unimplemented("Slice at run-time places");
  }
  if (op.outputs[0].tensor.rank != op.inputs[0].tensor.rank) {
    return unimplemented("a result of another rank");
  }
  return op.num_inputs < 3 ? unimplemented("Slice by attributes") : check_movable(op);
}

Status make_slice(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto in = dims_of(op.inputs[0].tensor);
  Dims starts;
  Dims axes;
  Dims steps;
  constant_integers(op, 1, &starts);
  constant_integers(op, 3, &axes);
  constant_integers(op, 4, &steps);
  const auto fits = [&](const Dims& list) { return list.empty() || list.size() == starts.size(); };
  if (!fits(axes) || !fits(steps) || starts.size() > in.size()) {
    return unimplemented("Slice: lists of other lengths");
  }
  Dims from(in.size());
  std::int64_t distance = 1;
  for (std::size_t i = in.size(); i-- > 0;) {
    from[i] = distance;
    distance *= in[i];
  }
  std::int64_t offset = 0;
  const auto rank = static_cast<std::int64_t>(in.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
    if (axis < -rank || axis >= rank) return unimplemented("Slice: axis out of range");
    const auto d = static_cast<std::size_t>(from_front(axis, rank));
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    std::int64_t start = starts[i] < 0 ? starts[i] + in[d] : starts[i];
    // A slice that goes back begins at the last element at most. One that goes forth may begin
    // behind it: it is empty.
    start =
        std::clamp<std::int64_t>(start, 0, step < 0 ? std::max<std::int64_t>(in[d] - 1, 0) : in[d]);
    offset += start * from[d];
    // With one element the step does not matter. Below, a larger step would leave the axis.
    if (op.outputs[0].tensor.dims[d] <= 1) {
      from[d] = 0;
    } else if (step > in[d] || step < -in[d]) {
      return unimplemented("Slice: a step past the end");
    } else {
      from[d] *= step;
    }
  }
  *kernel = std::make_unique<OneCopy>(op, copy_to_output(op, from, isa), offset);
  return plugin::ok();
}

// ---- Gather -------------------------------------------------------------------------------------

/// Rows of [outer][count][row] by index from [outer][length][row].
class Gather : public Kernel {
 public:
  explicit Gather(const sluice_op& op) : Kernel(op) {
    const sluice_tensor& data = op.inputs[0].tensor;
    axis_ = from_front(Attributes(op).get_int("axis"), data.rank);
    outer_ = product(dims_of(data), 0, axis_);
    length_ = data.dims[axis_];
    row_bytes_ = product(dims_of(data), axis_ + 1, data.rank) * element_bytes(data);
    count_ = plugin::num_elements(op.inputs[1].tensor);
    wide_ = op.inputs[1].tensor.element_type == plugin::kI64;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    // No worker reads at an index outside. One reports the first such index.
    if (worker.index == 0) check_indices(run);
    const auto* from = run.input<std::byte>(0);
    auto* to = run.output<std::byte>(0);
    const Share share = share_of(outer_ * count_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t index = index_at(run, i % count_);
      if (index < 0 || index >= length_) continue;
      std::memcpy(to + i * row_bytes_, from + (i / count_ * length_ + index) * row_bytes_,
                  static_cast<std::size_t>(row_bytes_));
    }
  }
  void extents(Extents& extents) const override {
    if (count_ > 0) extents.reads(0, {outer_, length_, row_bytes_});
    extents.reads(1, {count_, wide_ ? 8 : 4});
    extents.writes(0, {outer_, count_, row_bytes_});
  }
  double cost_ns() const override {
    return static_cast<double>(outer_ * count_) * (static_cast<double>(row_bytes_) * 0.1 + 10);
  }

 private:
  std::int64_t index_at(const Run& run, std::int64_t i) const {
    const std::int64_t raw = raw_at(run, i);
    return raw < 0 ? raw + length_ : raw;
  }
  std::int64_t raw_at(const Run& run, std::int64_t i) const {
    return wide_ ? run.input<std::int64_t>(1)[i] : std::int64_t{run.input<std::int32_t>(1)[i]};
  }

  void check_indices(const Run& run) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t index = index_at(run, i);
      if (index >= 0 && index < length_) continue;
      return run.fail(plugin::index_outside(raw_at(run, i), axis_, length_));
    }
  }

  std::int64_t axis_ = 0;
  std::int64_t outer_ = 0;
  std::int64_t length_ = 0;
  std::int64_t row_bytes_ = 0;
  std::int64_t count_ = 0;
  bool wide_ = false;
};

Status check_gather(const sluice_op& op) {
  const std::int64_t rank = op.inputs[0].tensor.rank;
  const std::int64_t axis = Attributes(op).get_int("axis");
  if (rank == 0 || axis < -rank || axis >= rank) return unimplemented("axis out of range");
  return check_movable(op);
}

Status make_gather(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<Gather>(op);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> copy_entries() {
  return {{.kind = "Expand", .check = check_movable, .make = make_expand, .num_required_inputs = 2},
          {.kind = "Gather", .check = check_gather, .make = make_gather, .num_required_inputs = 2},
          {.kind = "Slice", .check = check_slice, .make = make_slice},
          {.kind = "Transpose", .check = check_transpose, .make = make_transpose}};
}

}  // namespace sluice::cpu
