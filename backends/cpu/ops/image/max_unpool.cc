// MaxUnpool of row-major f32.

#include <cstring>
#include <memory>
#include <vector>

#include "conv/columns/columns.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// All workers write zeros, then one worker stores the elements, of which later ones win. Indices
/// count in the smallest image that undoes the pooling: only outputs of that size have this kernel.
class MaxUnpool : public Kernel {
 public:
  explicit MaxUnpool(const sluice_op& op)
      : Kernel(op),
        count_(plugin::num_elements(op.inputs[0].tensor)),
        size_(plugin::num_elements(op.outputs[0].tensor)) {}

  int phases() const override { return 2; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    auto* y = run.output<float>(0);
    if (phase == 0) {
      const Share share = share_of(size_, 64, worker);
      std::memset(y + share.begin, 0,
                  static_cast<std::size_t>(share.end - share.begin) * sizeof(float));
      return;
    }
    if (worker.index != 0) return;
    const auto* x = run.input<float>(0);
    const auto* indices = run.input<std::int64_t>(1);
    for (std::int64_t i = 0; i < count_; ++i) {
      if (indices[i] < 0 || indices[i] >= size_) return run.fail(outside(indices[i]));
      y[indices[i]] = x[i];
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {count_, sizeof(float)});
    extents.reads(1, {count_, sizeof(std::int64_t)});
    extents.writes(0, {size_, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(size_) * 0.1 + static_cast<double>(count_);
  }

 private:
  Status outside(std::int64_t index) const {
    return {SLUICE_OUT_OF_RANGE, "index " + std::to_string(index) + " is outside the output " +
                                     plugin::to_string(dims_of(op().outputs[0].tensor))};
  }

  std::int64_t count_;
  std::int64_t size_;
};

Status check_max_unpool(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& indices = op.inputs[1].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kF32 || indices.element_type != plugin::kI64) {
    return unimplemented("not f32 with indices of i64");
  }
  for (const sluice_tensor* tensor : {&x, &indices, &y}) {
    if (tensor->layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("not row-major");
  }
  const bool fits = x.rank >= 3 && x.rank <= 5 && y.rank == x.rank && indices.rank == x.rank;
  return fits ? plugin::ok() : unimplemented("other ranks");
}

Status make_max_unpool(const sluice_op& op, Isa /*isa*/, std::unique_ptr<Kernel>* kernel) {
  const auto x = dims_of(op.inputs[0].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  const auto kernel_shape = plugin::Attributes(op).get_ints("kernel_shape");
  ColumnWindow window;
  const Status status = read_column_window(op, kernel_shape, x.subspan(2), y.subspan(2), &window);
  if (!status.is_ok()) return status;
  if (!same_dims(op.inputs[0].tensor, op.inputs[1].tensor) || x[0] != y[0] || x[1] != y[1]) {
    return unimplemented("shapes that do not fit");
  }
  for (int d = 0; d < ColumnWindow::kAxes; ++d) {
    const std::int64_t unpooled = (window.windows[d] - 1) * window.stride[d] + window.kernel[d] -
                                  window.pad[d] - window.pad_end[d];
    if (unpooled != window.image[d]) return unimplemented("an output of another size");
  }
  *kernel = std::make_unique<MaxUnpool>(op);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> max_unpool_entries() {
  return {{.kind = "MaxUnpool",
           .check = check_max_unpool,
           .make = make_max_unpool,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
