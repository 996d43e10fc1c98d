// GridSample of row-major images [N, C, H, W], to the nearest pixel or linearly.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "kernels/image/resize_row.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

constexpr std::int64_t kCorners = 4;

bool is_nearest(const sluice_op& op) {
  return plugin::Attributes(op).get_text("mode", "linear") == "nearest";
}

Status check_grid_sample(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  for (const sluice_operand* operand : {&op.inputs[0], &op.inputs[1], &op.outputs[0]}) {
    const sluice_tensor& tensor = operand->tensor;
    if (tensor.element_type != plugin::kF32 || tensor.rank != 4 ||
        tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
      return unimplemented("not row-major images of f32");
    }
  }
  const plugin::Attributes attributes(op);
  const std::string_view mode = attributes.get_text("mode", "linear");
  const std::string_view padding = attributes.get_text("padding_mode", "zeros");
  const bool fits = (mode == "linear" || mode == "bilinear" || mode == "nearest") &&
                    (padding == "zeros" || padding == "border");
  return fits ? plugin::ok() : unimplemented("mode");
}

/// The neighbours of a place along one axis; those outside weigh nothing and name one inside.
struct AxisNeighbours {
  std::int64_t at[2];
  double weights[2];
};

/// A row of outputs is a weighted sum of the four pixels around each place of the grid, the same
/// for all channels.
class GridSample : public Kernel {
 public:
  GridSample(const sluice_op& op, Isa isa)
      : Kernel(op),
        is_nearest_(is_nearest(op)),
        aligns_corners_(plugin::Attributes(op).get_int("align_corners") != 0),
        clamps_(plugin::Attributes(op).get_text("padding_mode", "zeros") == "border"),
        gather_(SLUICE_CPU_PICK(isa, resize_between_columns)) {
    const auto x = plugin::dims_of(op.inputs[0].tensor);
    const auto y = plugin::dims_of(op.outputs[0].tensor);
    batch_ = x[0];
    channels_ = x[1];
    height_ = x[2];
    width_ = x[3];
    rows_ = y[2];
    columns_ = y[3];
  }

  void run(const Run& run, int, const Worker& worker) const override {
    auto* index = reinterpret_cast<std::int32_t*>(worker.scratch);
    auto* weights = reinterpret_cast<float*>(index + kCorners * columns_);
    const ResizeWeights corners = {index, weights, columns_, kCorners};
    const Share share = share_of(batch_ * rows_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      find_corners(run.input<float>(1) + i * columns_ * 2, index, weights);
      for (std::int64_t c = 0; c < channels_; ++c) {
        const std::int64_t plane = i / rows_ * channels_ + c;
        gather_(corners, run.input<float>(0) + plane * height_ * width_,
                run.output<float>(0) + (plane * rows_ + i % rows_) * columns_);
      }
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {batch_, channels_, height_, width_, sizeof(float)});
    extents.reads(1, {batch_, rows_, columns_, 2, sizeof(float)});
    extents.writes(0, {batch_, channels_, rows_, columns_, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override { return kCorners * columns_ * 8; }
  double cost_ns() const override {
    return static_cast<double>(batch_ * rows_ * columns_) *
           (20 + 2 * static_cast<double>(channels_));
  }

 private:
  void find_corners(const float* grid, std::int32_t* index, float* weights) const {
    for (std::int64_t i = 0; i < columns_; ++i) {
      const AxisNeighbours x = around(grid[2 * i], width_);
      const AxisNeighbours y = around(grid[2 * i + 1], height_);
      for (std::int64_t k = 0; k < kCorners; ++k) {
        index[k * columns_ + i] = static_cast<std::int32_t>(y.at[k / 2] * width_ + x.at[k % 2]);
        weights[k * columns_ + i] = static_cast<float>(y.weights[k / 2] * x.weights[k % 2]);
      }
    }
  }

  /// Grid values from -1 to 1 span the image: between the centres of its outer pixels with
  /// `align_corners`, else between their outer edges.
  AxisNeighbours around(double value, std::int64_t size) const {
    const auto extent = static_cast<double>(size);
    double x = aligns_corners_ ? (value + 1) / 2 * (extent - 1) : ((value + 1) * extent - 1) / 2;
    // Places outside have no weight, or the weight of the border. Bounds keep the conversion to
    // integers defined.
    if (!std::isfinite(x)) x = -1;
    if (is_nearest_) x = std::nearbyint(x);
    x = clamps_ ? std::clamp(x, 0.0, extent - 1) : std::clamp(x, -2.0, extent + 1);
    const double left = std::floor(x);
    AxisNeighbours found = {};
    for (int k = 0; k < 2; ++k) {
      const double at = left + k;
      const bool is_inside = at >= 0 && at < extent;
      found.at[k] = static_cast<std::int64_t>(std::clamp(at, 0.0, extent - 1));
      found.weights[k] = is_inside ? 1 - std::fabs(x - at) : 0;
    }
    return found;
  }

  bool is_nearest_;
  bool aligns_corners_;
  bool clamps_;
  decltype(&portable::resize_between_columns) gather_;
  std::int64_t batch_ = 1, channels_ = 1, height_ = 1, width_ = 1, rows_ = 1, columns_ = 1;
};

Status make_grid_sample(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = plugin::dims_of(op.inputs[0].tensor);
  const auto grid = plugin::dims_of(op.inputs[1].tensor);
  if (plugin::num_elements(op.inputs[0].tensor) == 0 || x[2] * x[3] > INT32_MAX) {
    return unimplemented("an empty or a very large image");
  }
  if (grid[0] != x[0] || grid[3] != 2) {
    return plugin::invalid_argument("GridSample: the grid does not fit the image");
  }
  *kernel = std::make_unique<GridSample>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> grid_sample_entries() {
  return {{.kind = "GridSample",
           .check = check_grid_sample,
           .make = make_grid_sample,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
