// RoiAlign and MaxRoiPool of row-major f32: pooled regions of images.

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/image/gather_sums.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"
#include "reference/kernels/image/cells.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;
using reference::cell_range;
using reference::CellRange;

/// Channels that one worker computes from the same places.
constexpr std::int64_t kRegionChannels = 64;
/// Taps of cells that are found together; a cell of more takes several rounds.
constexpr std::int64_t kCellTaps = 4096;

/// Images [n, c, height, width], regions [regions, columns], output [regions, c, rows, columns].
struct RegionShape {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;
  std::int64_t regions = 0, rows = 0, columns = 0;

  std::int64_t pixels() const { return height * width; }
  std::int64_t cells() const { return rows * columns; }
  std::int64_t blocks() const { return (channels + kRegionChannels - 1) / kRegionChannels; }
};

Status check_ranks(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& rois = op.inputs[1].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  for (const sluice_tensor* tensor : {&x, &rois, &y}) {
    if (tensor->element_type != plugin::kF32 || tensor->layout != SLUICE_LAYOUT_ROW_MAJOR) {
      return unimplemented("not row-major f32");
    }
  }
  return x.rank == 4 && rois.rank == 2 && y.rank == 4 ? plugin::ok() : unimplemented("other ranks");
}

Status read_shape(const sluice_op& op, std::int64_t numbers, RegionShape* shape) {
  const auto x = plugin::dims_of(op.inputs[0].tensor);
  const auto rois = plugin::dims_of(op.inputs[1].tensor);
  const auto y = plugin::dims_of(op.outputs[0].tensor);
  if (rois[1] != numbers || y[0] != rois[0] || y[1] != x[1] || plugin::num_elements(x) < 1 ||
      plugin::num_elements(y) < 1 || x[2] * x[3] > INT32_MAX) {
    return unimplemented("images, regions and output that do not fit, or are empty");
  }
  *shape = {x[0], x[1], x[2], x[3], rois[0], y[2], y[3]};
  return plugin::ok();
}

// ---- RoiAlign -----------------------------------------------------------------------------------

/// A region's samples: along each axis `count` of each cell.
struct Samples {
  double begin = 0, cell = 0;
  std::int64_t count = 1;

  double at(std::int64_t cell_index, std::int64_t sample) const {
    return begin + (static_cast<double>(cell_index) +
                    (static_cast<double>(sample) + 0.5) / static_cast<double>(count)) *
                       cell;
  }
};

/// The average of a region's cells over bilinear samples.
class RoiAlign : public Kernel {
 public:
  RoiAlign(const sluice_op& op, const RegionShape& shape, Isa isa)
      : Kernel(op), shape_(shape), gather_(SLUICE_CPU_PICK(isa, gather_sums)) {
    const plugin::Attributes attributes(op);
    scale_ = attributes.get_float("spatial_scale", 1);
    sampling_ratio_ = attributes.get_int("sampling_ratio");
    is_half_pixel_ =
        attributes.get_text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const auto* batch = run.input<std::int64_t>(2);
    if (worker.index == 0) check_batch(run, batch);
    const Share share = share_of(shape_.regions * shape_.blocks(), 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t image = batch[i / shape_.blocks()];
      if (image < 0 || image >= shape_.images) continue;
      run_region(run, i / shape_.blocks(), image, i % shape_.blocks() * kRegionChannels, worker);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {shape_.images, shape_.channels, shape_.pixels(), sizeof(float)});
    extents.reads(1, {shape_.regions, 4, sizeof(float)});
    extents.reads(2, {shape_.regions, sizeof(std::int64_t)});
    extents.writes(0, {shape_.regions, shape_.channels, shape_.cells(), sizeof(float)});
  }
  std::int64_t scratch_bytes() const override { return kCellTaps * 12; }
  double cost_ns() const override {
    return static_cast<double>(shape_.regions * shape_.channels * shape_.cells()) * 12;
  }

 private:
  void check_batch(const Run& run, const std::int64_t* batch) const {
    for (std::int64_t r = 0; r < shape_.regions; ++r) {
      if (batch[r] >= 0 && batch[r] < shape_.images) continue;
      return run.fail(plugin::index_outside(batch[r], 0, shape_.images));
    }
  }

  Samples samples(double from, double to, std::int64_t cells) const {
    constexpr double kMaxSamples = 1024;  // a region may be as large as floats are
    double length = (to - from) * scale_;
    if (!is_half_pixel_) length = std::max(length, 1.0);
    Samples found = {from * scale_ - (is_half_pixel_ ? 0.5 : 0),
                     length / static_cast<double>(cells)};
    const double wanted =
        sampling_ratio_ > 0 ? static_cast<double>(sampling_ratio_) : std::ceil(found.cell);
    found.count = static_cast<std::int64_t>(wanted >= 1 ? std::min(wanted, kMaxSamples) : 1);
    return found;
  }

  /// Channels from `channel` on of one region. As many samples of a cell and then as many cells go
  /// together as there is room for taps.
  void run_region(const Run& run, std::int64_t region, std::int64_t image, std::int64_t channel,
                  const Worker& worker) const {
    const float* roi = run.input<float>(1) + region * 4;
    const Samples x = samples(roi[0], roi[2], shape_.columns);
    const Samples y = samples(roi[1], roi[3], shape_.rows);
    const std::int64_t all = x.count * y.count;
    const std::int64_t together = std::min(all, kCellTaps / 4);
    const std::int64_t cells = kCellTaps / 4 / together;
    GatherSums g;
    g.index = reinterpret_cast<std::int32_t*>(worker.scratch);
    g.weights = reinterpret_cast<float*>(g.index + kCellTaps);
    g.ends = reinterpret_cast<std::int32_t*>(g.weights + kCellTaps);
    const std::int64_t plane = image * shape_.channels + channel;
    const std::int64_t output = region * shape_.channels + channel;
    for (std::int64_t first = 0; first < shape_.cells(); first += cells) {
      for (std::int64_t sample = 0; sample < all; sample += together) {
        g.sums = g.taps = 0;
        for (std::int64_t i = first; i < std::min(first + cells, shape_.cells()); ++i) {
          for (std::int64_t s = sample; s < std::min(sample + together, all); ++s) {
            add_taps(y.at(i / shape_.columns, s / x.count), x.at(i % shape_.columns, s % x.count),
                     g);
          }
          g.finish_sum();
        }
        gather_(g, {.plane = run.input<float>(0) + plane * shape_.pixels(),
                    .plane_size = shape_.pixels(),
                    .output = run.output<float>(0) + output * shape_.cells() + first,
                    .output_size = shape_.cells(),
                    .planes = std::min(kRegionChannels, shape_.channels - channel),
                    .scale = 1 / static_cast<float>(all),
                    .adds = sample > 0});
      }
    }
  }

  /// One pixel beyond the border still counts, as in the standard's code; what is farther is 0.
  void add_taps(double y, double x, GatherSums& g) const {
    const auto height = static_cast<double>(shape_.height);
    const auto width = static_cast<double>(shape_.width);
    if (!(y >= -1 && y <= height && x >= -1 && x <= width)) return;
    y = std::clamp(y, 0.0, height - 1);
    x = std::clamp(x, 0.0, width - 1);
    const auto top = static_cast<std::int64_t>(y);
    const auto left = static_cast<std::int64_t>(x);
    const std::int64_t bottom = std::min(top + 1, shape_.height - 1);
    const std::int64_t right = std::min(left + 1, shape_.width - 1);
    const double down = y - static_cast<double>(top);
    const double over = x - static_cast<double>(left);
    g.add(top * shape_.width + left, (1 - down) * (1 - over));
    g.add(top * shape_.width + right, (1 - down) * over);
    g.add(bottom * shape_.width + left, down * (1 - over));
    g.add(bottom * shape_.width + right, down * over);
  }

  RegionShape shape_;
  decltype(&portable::gather_sums) gather_;
  double scale_ = 1;
  std::int64_t sampling_ratio_ = 0;
  bool is_half_pixel_ = true;
};

Status check_roi_align(const sluice_op& op) {
  if (Status status = check_ranks(op); !status.is_ok()) return status;
  if (plugin::Attributes(op).get_text("mode", "avg") != "avg") return unimplemented("mode");
  const sluice_tensor& batch = op.inputs[2].tensor;
  const bool fits = batch.element_type == plugin::kI64 && batch.rank == 1;
  return fits ? plugin::ok() : unimplemented("batch indices of another type");
}

Status make_roi_align(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  RegionShape shape;
  if (Status status = read_shape(op, 4, &shape); !status.is_ok()) return status;
  *kernel = std::make_unique<RoiAlign>(op, shape, isa);
  return plugin::ok();
}

// ---- MaxRoiPool ---------------------------------------------------------------------------------

class MaxRoiPool : public Kernel {
 public:
  MaxRoiPool(const sluice_op& op, const RegionShape& shape)
      : Kernel(op), shape_(shape), scale_(plugin::Attributes(op).get_float("spatial_scale", 1)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    if (worker.index == 0) check_batch(run);
    const Share share = share_of(shape_.regions * shape_.blocks(), 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t channel = i % shape_.blocks() * kRegionChannels;
      run_region(run, i / shape_.blocks(), channel);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {shape_.images, shape_.channels, shape_.pixels(), sizeof(float)});
    extents.reads(1, {shape_.regions, 5, sizeof(float)});
    extents.writes(0, {shape_.regions, shape_.channels, shape_.cells(), sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(shape_.regions * shape_.channels * shape_.cells()) * 20;
  }

 private:
  bool is_image(float n) const { return n >= 0 && n < static_cast<float>(shape_.images); }

  void check_batch(const Run& run) const {
    for (std::int64_t r = 0; r < shape_.regions; ++r) {
      const float n = run.input<float>(1)[r * 5];
      if (is_image(n)) continue;
      const bool is_huge = !(std::fabs(n) < 0x1p62F);
      return run.fail(
          plugin::index_outside(is_huge ? -1 : static_cast<std::int64_t>(n), 0, shape_.images));
    }
  }

  void run_region(const Run& run, std::int64_t region, std::int64_t channel) const {
    const float* roi = run.input<float>(1) + region * 5;
    if (!is_image(roi[0])) return;
    const auto image = static_cast<std::int64_t>(roi[0]);
    double at[5] = {};
    for (int k = 1; k < 5; ++k) at[k] = std::round(double{roi[k]} * scale_);
    const double width = std::max(at[3] - at[1] + 1, 1.0);
    const double height = std::max(at[4] - at[2] + 1, 1.0);
    for (std::int64_t i = 0; i < shape_.cells(); ++i) {
      const CellRange rows =
          cell_range(at[2], height, i / shape_.columns, shape_.rows, shape_.height);
      const CellRange columns =
          cell_range(at[1], width, i % shape_.columns, shape_.columns, shape_.width);
      for (std::int64_t c = channel; c < std::min(channel + kRegionChannels, shape_.channels);
           ++c) {
        run.output<float>(0)[(region * shape_.channels + c) * shape_.cells() + i] = largest(
            run.input<float>(0) + (image * shape_.channels + c) * shape_.pixels(), rows, columns);
      }
    }
  }

  /// NaN if there is one; 0 of no elements.
  float largest(const float* plane, CellRange rows, CellRange columns) const {
    if (rows.begin >= rows.end || columns.begin >= columns.end) return 0;
    float best = plane[rows.begin * shape_.width + columns.begin];
    bool has_nan = false;
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      const float* row = plane + h * shape_.width;
      for (std::int64_t w = columns.begin; w < columns.end; ++w) {
        best = row[w] > best ? row[w] : best;
        has_nan = has_nan || row[w] != row[w];
      }
    }
    return has_nan ? NAN : best;
  }

  RegionShape shape_;
  double scale_;
};

Status make_max_roi_pool(const sluice_op& op, Isa /*isa*/, std::unique_ptr<Kernel>* kernel) {
  RegionShape shape;
  if (Status status = read_shape(op, 5, &shape); !status.is_ok()) return status;
  *kernel = std::make_unique<MaxRoiPool>(op, shape);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> region_entries() {
  return {{.kind = "RoiAlign",
           .check = check_roi_align,
           .make = make_roi_align,
           .num_required_inputs = 3},
          {.kind = "MaxRoiPool",
           .check = check_ranks,
           .make = make_max_roi_pool,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
