#include "ops/image/pool/volume_pool.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "conv/columns/columns.h"
#include "kernels/image/pool_row.h"
#include "ops/image/pool/pool_batch.h"
#include "ops/image/window.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

/// A window of slices is one of more rows: each row of the output joins the rows of all slices.
class VolumePool : public Kernel {
 public:
  VolumePool(const sluice_op& op, const ColumnWindow& window, PoolKind kind, Isa isa)
      : Kernel(op),
        window_(window),
        planes_(op.inputs[0].tensor.dims[0] * op.inputs[0].tensor.dims[1]),
        counts_pads_(plugin::Attributes(op).get_int("count_include_pad") != 0),
        pool_rows_(SLUICE_CPU_PICK(isa, pool_rows)) {
    const bool counts = counts_pads_;
    row_.kind = kind;
    row_.input_row = window.dilation[1] * window.image[2];
    row_.input_slice = window.dilation[0] * window.image[1] * window.image[2];
    row_.input_cols = window.image[2];
    row_.output_cols = window.windows[2];
    row_.kernel_cols = window.kernel[2];
    row_.stride = window.stride[2];
    row_.dilation = window.dilation[2];
    row_.pad_begin = window.pad[2];
    row_.padded_cols = padded_columns(row_);
    if (kind != PoolKind::kAverage || plugin::num_elements(op.outputs[0].tensor) == 0) return;
    counted_cols_ = count_columns(row_, counts ? -window.pad[2] : 0,
                                  window.image[2] + (counts ? window.pad_end[2] : 0));
    row_.counted_cols = counted_cols_.data();
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(planes_ * window_.windows[0] * window_.windows[1], 1, worker);
    PoolBatch batch(row_, pool_rows_, worker.scratch);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t plane = i / (window_.windows[0] * window_.windows[1]);
      PoolRow& row = batch.next();
      row.output = run.output<float>(0) + i * window_.windows[2];
      place_row(run.input<float>(0) + plane * window_.pixels(),
                i / window_.windows[1] % window_.windows[0], i % window_.windows[1], row);
    }
    batch.flush();
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, window_.pixels(), sizeof(float)});
    extents.writes(0, {planes_, window_.places(), sizeof(float)});
  }
  std::int64_t scratch_bytes() const override { return PoolBatch::scratch_bytes(row_); }
  double cost_ns() const override {
    return static_cast<double>(planes_ * window_.places() * window_.kernel[0]) *
           static_cast<double>(window_.kernel[1] + window_.kernel[2]) * 0.2;
  }

 private:
  Share taps(int axis, std::int64_t at, std::int64_t before, std::int64_t behind) const {
    return taps_within(at * window_.stride[axis] - window_.pad[axis], window_.dilation[axis],
                       window_.kernel[axis], -before, window_.image[axis] + behind);
  }
  std::int64_t counted(int axis, std::int64_t at) const {
    const Share all = counts_pads_ ? taps(axis, at, window_.pad[axis], window_.pad_end[axis])
                                   : taps(axis, at, 0, 0);
    return all.end - all.begin;
  }

  void place_row(const float* plane, std::int64_t depth, std::int64_t height, PoolRow& row) const {
    const Share slices = taps(0, depth, 0, 0);
    const Share rows = taps(1, height, 0, 0);
    row.slices = slices.end - slices.begin;
    row.rows = rows.end - rows.begin;
    row.counted_rows = counted(0, depth) * counted(1, height);
    const std::int64_t d =
        depth * window_.stride[0] - window_.pad[0] + slices.begin * window_.dilation[0];
    const std::int64_t h =
        height * window_.stride[1] - window_.pad[1] + rows.begin * window_.dilation[1];
    row.input = plane;
    // A window between slices or rows touches none.
    if (row.slices > 0 && row.rows > 0) row.input += (d * window_.image[1] + h) * window_.image[2];
  }

  ColumnWindow window_;
  std::int64_t planes_;
  bool counts_pads_;
  decltype(&portable::pool_rows) pool_rows_;
  PoolRow row_;
  std::vector<float> counted_cols_;
};

}  // namespace

Status check_volume_pool(const sluice_op& op) {
  if (op.num_outputs > 1 && !plugin::is_absent(op.outputs[1].tensor)) {
    return plugin::unimplemented("indices");
  }
  if (op.inputs[0].tensor.rank != 5 || op.outputs[0].tensor.rank != 5) {
    return plugin::unimplemented("other ranks");
  }
  return check_plain_f32(op);
}

Status make_volume_pool(const sluice_op& op, PoolKind kind, Isa isa,
                        std::unique_ptr<Kernel>* kernel) {
  const auto x = plugin::dims_of(op.inputs[0].tensor);
  const auto y = plugin::dims_of(op.outputs[0].tensor);
  ColumnWindow window;
  const Status status = read_column_window(op, plugin::Attributes(op).get_ints("kernel_shape"),
                                           y.subspan(2), x.subspan(2), &window);
  if (!status.is_ok()) return status;
  if (x[0] != y[0] || x[1] != y[1]) return plugin::unimplemented("shapes that do not fit");
  *kernel = std::make_unique<VolumePool>(op, window, kind, isa);
  return plugin::ok();
}

}  // namespace sluice::cpu
