// MaxPool, AveragePool, LpPool and their global forms, over c16 and row-major images.

#include <algorithm>

#include "kernels/bytes/bytes.h"
#include "kernels/image/pool_row.h"
#include "ops/image/pool/number_pool.h"
#include "ops/image/pool/plane_pool.h"
#include "ops/image/pool/pool_batch.h"
#include "ops/image/pool/pool_places.h"
#include "ops/image/pool/volume_pool.h"
#include "ops/image/window.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

Status check_operands(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  if (op.num_outputs > 1 && !plugin::is_absent(op.outputs[1].tensor)) {
    return unimplemented("indices");
  }
  if (op.outputs[0].tensor.rank != op.inputs[0].tensor.rank) {
    return unimplemented("a result of another rank");
  }
  return plugin::ok();
}

struct PoolShape {
  std::int64_t planes = 0;  ///< or blocks of 16 channels, of all images together
  std::int64_t pixel = 1;
  Extent input;
  Extent output;
};

/// Planes of rows and columns. A whole volume counts as an image of as many pixels.
PoolShape pool_shape(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (x.rank == 5) {  // of which only whole volumes are pooled here
    return {x.dims[0] * x.dims[1], 1, {x.dims[2] * x.dims[3], x.dims[4]}, {}};
  }
  const bool blocked = x.layout == SLUICE_LAYOUT_C16;
  return {x.dims[0] * (blocked ? blocks_of(x.dims[1]) : x.dims[1]), blocked ? kBlock : 1,
          spatial_extent(dims_of(x)), spatial_extent(dims_of(op.outputs[0].tensor))};
}

/// Windows read only what is inside the image.
void tell_extents(const PoolShape& shape, std::int64_t element_bytes, Extents& extents) {
  extents.reads(0, {shape.planes, shape.input.h, shape.input.w, shape.pixel, element_bytes});
  extents.writes(0, {shape.planes, shape.output.h, shape.output.w, shape.pixel, element_bytes});
}

// ---- windows ------------------------------------------------------------------------------------

Status check_pool_window(const sluice_op& op) {
  if (Status status = check_operands(op); !status.is_ok()) return status;
  const sluice_tensor& x = op.inputs[0].tensor;
  if (x.layout != op.outputs[0].tensor.layout) return unimplemented("operands of unlike layouts");
  const auto kernel = plugin::Attributes(op).get_ints("kernel_shape");
  if (static_cast<std::int32_t>(kernel.size()) != x.rank - 2) return unimplemented("kernel_shape");
  return check_window(op, x.rank);
}

Status check_pool(const sluice_op& op) {
  const Status status = check_image(op.inputs[0].tensor);
  return status.is_ok() ? check_pool_window(op) : status;
}

bool is_bytes(const sluice_op& op) { return op.inputs[0].tensor.element_type == plugin::kU8; }

bool is_volume(const sluice_op& op) { return op.inputs[0].tensor.rank == 5; }

Status check_average_pool(const sluice_op& op) {
  return is_volume(op) ? check_volume_pool(op) : check_pool(op);
}

bool gives_places(const sluice_op& op) {
  return op.num_outputs > 1 && !plugin::is_absent(op.outputs[1].tensor);
}

Status check_max_pool(const sluice_op& op) {
  if (gives_places(op)) return check_pool_places(op);
  if (is_number_pool(op)) return check_pool_window(op);
  if (!is_bytes(op)) return check_average_pool(op);
  const sluice_tensor& x = op.inputs[0].tensor;
  const bool is_blocked = x.layout == SLUICE_LAYOUT_C16 && (x.rank == 3 || x.rank == 4);
  return is_blocked ? check_pool_window(op) : unimplemented("not a c16 image");
}

Window pool_window(const sluice_op& op) {
  const auto k = plugin::Attributes(op).get_ints("kernel_shape");
  const Extent kernel = k.size() == 1 ? Extent{1, k[0]} : Extent{k[0], k[1]};
  return read_window(op, kernel, spatial_extent(dims_of(op.inputs[0].tensor)));
}

/// Kernel rows of a window that begins at `first` that lie in [begin, end).
Share rows_within(const Window& w, std::int64_t first, std::int64_t begin, std::int64_t end) {
  return taps_within(first, w.dilation.h, w.kernel.h, begin, end);
}

class Pool : public Kernel {
 public:
  Pool(const sluice_op& op, PoolKind kind, Isa isa)
      : Kernel(op),
        shape_(pool_shape(op)),
        window_(pool_window(op)),
        counts_pads_(plugin::Attributes(op).get_int("count_include_pad") != 0),
        pool_rows_(SLUICE_CPU_PICK(isa, pool_rows)) {
    row_.kind = kind;
    row_.input_row = window_.dilation.h * shape_.input.w * shape_.pixel;
    row_.pixel = shape_.pixel;
    row_.input_cols = shape_.input.w;
    row_.output_cols = shape_.output.w;
    row_.kernel_cols = window_.kernel.w;
    row_.stride = window_.stride.w;
    row_.dilation = window_.dilation.w;
    row_.pad_begin = window_.pad_begin.w;
    row_.padded_cols = padded_columns(row_);
    find_rows();
    if (kind != PoolKind::kAverage || plugin::num_elements(op.outputs[0].tensor) == 0) return;
    counted_cols_ = count_columns(row_, counts_pads_ ? -window_.pad_begin.w : 0,
                                  shape_.input.w + (counts_pads_ ? window_.pad_end.w : 0));
    row_.counted_cols = counted_cols_.data();
  }

  void run(const Run& run, int, const Worker& worker) const override {
    PoolBatch batch(row_, pool_rows_, worker.scratch);
    const Share share = share_of(shape_.planes * shape_.output.h, 1, worker);
    if (share.begin == share.end) return;
    std::int64_t plane = share.begin / shape_.output.h;
    auto at = static_cast<std::size_t>(share.begin % shape_.output.h);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      PoolRow& row = batch.next();
      const RowsUnder& under = rows_under_[at];
      row.input =
          run.input<float>(0) + (plane * shape_.input.h + under.y) * shape_.input.w * shape_.pixel;
      row.rows = under.rows;
      row.counted_rows = under.counted;
      row.output = run.output<float>(0) + i * shape_.output.w * shape_.pixel;
      if (++at < rows_under_.size()) continue;
      at = 0;
      ++plane;
    }
    batch.flush();
  }

  void extents(Extents& extents) const override { tell_extents(shape_, sizeof(float), extents); }
  std::int64_t scratch_bytes() const override { return PoolBatch::scratch_bytes(row_); }
  double cost_ns() const override {
    const auto pixels = static_cast<double>(shape_.planes * shape_.output.h * shape_.output.w);
    return pixels * static_cast<double>(shape_.pixel * (window_.kernel.h + window_.kernel.w)) *
           0.05;
  }

 private:
  /// Rows of the image under the windows of one row of them.
  struct RowsUnder {
    std::int64_t y = 0;        ///< the first one
    std::int64_t rows = 0;     ///< that exist
    std::int64_t counted = 0;  ///< that a divisor counts
  };

  /// Fills `rows_under_`. Without the table each row of each plane would need divisions.
  void find_rows() {
    if (plugin::num_elements(op().outputs[0].tensor) == 0) return;
    for (std::int64_t i = 0; i < shape_.output.h; ++i) {
      // May lie in the padding.
      const std::int64_t first = i * window_.stride.h - window_.pad_begin.h;
      const Share rows = rows_within(window_, first, 0, shape_.input.h);
      Share counted = rows;
      if (counts_pads_) {
        counted =
            rows_within(window_, first, -window_.pad_begin.h, shape_.input.h + window_.pad_end.h);
      }
      rows_under_.push_back({first + rows.begin * window_.dilation.h, rows.end - rows.begin,
                             counted.end - counted.begin});
    }
  }

  PoolShape shape_;
  Window window_;
  bool counts_pads_;
  decltype(&portable::pool_rows) pool_rows_;
  PoolRow row_;
  std::vector<RowsUnder> rows_under_;  ///< of each row of the output
  std::vector<float> counted_cols_;
};

/// The largest of bytes without sign, in c16.
class BytePool : public Kernel {
 public:
  BytePool(const sluice_op& op, Isa isa)
      : Kernel(op),
        shape_(pool_shape(op)),
        window_(pool_window(op)),
        pool_row_(SLUICE_CPU_PICK(isa, pool_byte_row)) {
    row_.input_row = window_.dilation.h * shape_.input.w * kBlock;
    row_.input_cols = shape_.input.w;
    row_.output_cols = shape_.output.w;
    row_.kernel_cols = window_.kernel.w;
    row_.stride = window_.stride.w;
    row_.dilation = window_.dilation.w;
    row_.pad_begin = window_.pad_begin.w;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    BytePoolRow row = row_;
    const Share share = share_of(shape_.planes * shape_.output.h, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % shape_.output.h * window_.stride.h - window_.pad_begin.h;
      const Share rows = rows_within(window_, first, 0, shape_.input.h);
      const std::int64_t y = first + rows.begin * window_.dilation.h;
      row.input = run.input<std::uint8_t>(0) +
                  (i / shape_.output.h * shape_.input.h + y) * shape_.input.w * kBlock;
      row.rows = rows.end - rows.begin;
      row.output = run.output<std::uint8_t>(0) + i * shape_.output.w * kBlock;
      pool_row_(row);
    }
  }
  void extents(Extents& extents) const override { tell_extents(shape_, 1, extents); }
  double cost_ns() const override {
    const auto pixels = static_cast<double>(shape_.planes * shape_.output.h * shape_.output.w);
    return pixels * static_cast<double>(window_.kernel.h * window_.kernel.w) * 0.4;
  }

 private:
  PoolShape shape_;
  Window window_;
  decltype(&portable::pool_byte_row) pool_row_;
  BytePoolRow row_;
};

/// Norms of other powers are generic.
std::int64_t power_of(const sluice_op& op) { return plugin::Attributes(op).get_int("p", 2); }

Status check_norm_pool(const sluice_op& op) {
  if (power_of(op) != 1 && power_of(op) != 2) return unimplemented("a power other than 1 and 2");
  return check_average_pool(op);
}

constexpr std::int64_t kMaxWindow = std::int64_t{1} << 31;

Status check_extents(const Window& w) {
  for (const Extent e : {w.kernel, w.stride, w.dilation}) {
    if (e.h < 1 || e.w < 1) return unimplemented("a window without extent");
  }
  std::int64_t places = 0;
  if (__builtin_mul_overflow(w.kernel.h, w.kernel.w, &places) || places > kMaxWindow) {
    return unimplemented("a window of more than 2^31 places");
  }
  if (w.pad_begin.h < 0 || w.pad_begin.w < 0 || w.pad_end.h < 0 || w.pad_end.w < 0) {
    return unimplemented("negative pads");
  }
  return plugin::ok();
}

template <PoolKind kKind>
Status make_pool(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (gives_places(op)) return make_pool_places(op, isa, kernel);
  if (is_volume(op)) return make_volume_pool(op, kKind, isa, kernel);
  const Window window = pool_window(op);
  if (Status status = check_extents(window); !status.is_ok()) return status;
  const PoolShape shape = pool_shape(op);
  if (is_number_pool(op)) return make_number_pool(op, window, isa, kernel);
  if (is_bytes(op)) {
    *kernel = std::make_unique<BytePool>(op, isa);
  } else if (kKind == PoolKind::kMax && shape.pixel == 1 &&
             suits_plane_pool(window, shape.input, shape.output)) {
    *kernel = make_plane_pool(op, window, isa);
  } else {
    *kernel = std::make_unique<Pool>(op, kKind, isa);
  }
  return plugin::ok();
}

Status make_norm_pool(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  return power_of(op) == 1 ? make_pool<PoolKind::kNorm1>(op, isa, kernel)
                           : make_pool<PoolKind::kNorm2>(op, isa, kernel);
}

// ---- whole images -------------------------------------------------------------------------------

/// Blocked input gives blocked output, or row-major output with equal bytes.
Status check_global(const sluice_op& op) {
  Status status = check_operands(op);
  if (status.is_ok() && is_volume(op)) return check_plain_f32(op);
  if (status.is_ok()) status = check_image(op.inputs[0].tensor);
  if (!status.is_ok()) return status;
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  const bool whole_blocks =
      x.layout == SLUICE_LAYOUT_C16 && x.dims[1] > 0 && x.dims[1] % kBlock == 0;
  if (x.layout != y.layout && !whole_blocks) return unimplemented("operands of unlike layouts");
  return plugin::ok();
}

class GlobalPool : public Kernel {
 public:
  GlobalPool(const sluice_op& op, PoolKind kind, Isa isa)
      : Kernel(op),
        shape_(pool_shape(op)),
        kind_(kind),
        pool_all_(SLUICE_CPU_PICK(isa, pool_all)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t pixels = shape_.input.h * shape_.input.w;
    const Share share = share_of(shape_.planes, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      pool_all_(kind_, run.input<float>(0) + i * pixels * shape_.pixel, pixels, shape_.pixel,
                run.output<float>(0) + i * shape_.pixel);
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {shape_.planes, shape_.input.h, shape_.input.w, shape_.pixel, sizeof(float)});
    extents.writes(0, {shape_.planes, shape_.pixel, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(shape_.planes * shape_.input.h * shape_.input.w * shape_.pixel) *
           0.05;
  }

 private:
  PoolShape shape_;
  PoolKind kind_;
  decltype(&portable::pool_all) pool_all_;
};

template <PoolKind kKind>
Status make_global(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<GlobalPool>(op, kKind, isa);
  return plugin::ok();
}

Status check_global_norm(const sluice_op& op) {
  if (power_of(op) != 1 && power_of(op) != 2) return unimplemented("a power other than 1 and 2");
  return check_global(op);
}

Status make_global_norm(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  return power_of(op) == 1 ? make_global<PoolKind::kNorm1>(op, isa, kernel)
                           : make_global<PoolKind::kNorm2>(op, isa, kernel);
}

}  // namespace

std::vector<OpEntry> pool_entries() {
  return {
      {.kind = "MaxPool", .check = check_max_pool, .make = make_pool<PoolKind::kMax>},
      {.kind = "AveragePool", .check = check_average_pool, .make = make_pool<PoolKind::kAverage>},
      {.kind = "LpPool", .check = check_norm_pool, .make = make_norm_pool},
      {.kind = "GlobalLpPool", .check = check_global_norm, .make = make_global_norm},
      {.kind = "GlobalMaxPool", .check = check_global, .make = make_global<PoolKind::kMax>},
      {.kind = "GlobalAveragePool",
       .check = check_global,
       .make = make_global<PoolKind::kAverage>}};
}

}  // namespace sluice::cpu
