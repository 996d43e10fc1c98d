// Resize of row-major images: each output is a weighted sum of neighbouring rows, then of columns.

#include "ops/image/resize_planes.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/image/resize_row.h"
#include "ops/image/resize_taps.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

/// The neighbours of each output along one axis: [neighbours][outputs], so that a vector takes one
/// neighbour of many outputs.
class Neighbours {
 public:
  Neighbours() = default;
  Neighbours(std::int64_t size, std::int64_t count)
      : size_(size),
        count_(count),
        index_(static_cast<std::size_t>(size * count)),
        weights_(index_.size()) {}

  void set(std::int64_t i, std::int64_t k, std::int64_t index, double weight) {
    const auto at = static_cast<std::size_t>(k * size_ + i);
    index_[at] = static_cast<std::int32_t>(index);
    weights_[at] = static_cast<float>(weight);
  }
  ResizeWeights view() const { return {index_.data(), weights_.data(), size_, count_}; }

 private:
  std::int64_t size_ = 0;
  std::int64_t count_ = 0;
  std::vector<std::int32_t> index_;
  std::vector<float> weights_;
};

/// Keys' kernel (R. Keys, "Cubic convolution interpolation for digital image processing", 1981):
///
///     (a + 2) |x|^3 - (a + 3) |x|^2 + 1           up to 1
///     a |x|^3 - 5 a |x|^2 + 8 a |x| - 4 a         up to 2
double cubic_weight(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

Neighbours cubic_neighbours(const sluice_op& op, const ResizeAxis& axis) {
  const plugin::Attributes attributes(op);
  const double a = attributes.get_float("cubic_coeff_a", -0.75F);
  const bool excludes = attributes.get_int("exclude_outside") != 0;
  Neighbours neighbours(axis.out, 4);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double x = resize_coordinate(op, axis, static_cast<double>(i));
    const double left = std::floor(x);
    double weights[4];
    double sum = 0;
    for (int k = 0; k < 4; ++k) {
      const double at = left - 1 + k;
      const bool is_outside = at < 0 || at > static_cast<double>(axis.in - 1);
      weights[k] = excludes && is_outside ? 0 : cubic_weight(a, x - at);
      sum += weights[k];
    }
    for (int k = 0; k < 4; ++k) {
      // A neighbour outside reads the border. With `exclude_outside` it weighs nothing, and the
      // others add up to 1.
      const double at = std::clamp(left - 1 + k, 0.0, static_cast<double>(axis.in - 1));
      neighbours.set(i, k, static_cast<std::int64_t>(at),
                     excludes && sum != 0 ? weights[k] / sum : weights[k]);
    }
  }
  return neighbours;
}

Neighbours find_neighbours(const sluice_op& op, int dim) {
  const ResizeAxis axis = resize_axis(op, dim);
  const std::string_view mode = plugin::Attributes(op).get_text("mode", "nearest");
  if (mode == "cubic") return cubic_neighbours(op, axis);
  const std::vector<ResizeTap> taps = resize_taps(op, dim);
  const std::int64_t count = mode == "nearest" ? 1 : 2;
  Neighbours neighbours(axis.out, count);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const ResizeTap& tap = taps[static_cast<std::size_t>(i)];
    const double second = count == 2 ? tap.second_weight : 0;
    neighbours.set(i, 0, tap.first, 1 - second);
    if (count == 2) neighbours.set(i, 1, tap.second, second);
  }
  return neighbours;
}

class ResizePlanes : public Kernel {
 public:
  ResizePlanes(const sluice_op& op, Isa isa)
      : Kernel(op), columns_(find_neighbours(op, op.inputs[0].tensor.rank - 1)), isa_(isa) {
    const sluice_tensor& x = op.inputs[0].tensor;
    const sluice_tensor& y = op.outputs[0].tensor;
    width_ = x.dims[x.rank - 1];
    if (x.rank > 3) rows_ = find_neighbours(op, x.rank - 2);
    if (x.rank > 3) height_ = x.dims[x.rank - 2];
    planes_ = x.dims[0] * x.dims[1];
    output_rows_ = x.rank > 3 ? y.dims[y.rank - 2] : 1;
    has_rows_ = x.rank > 3;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const ResizeWeights columns = columns_.view();
    auto* between = reinterpret_cast<float*>(worker.scratch);
    const Share share = share_of(planes_ * output_rows_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const float* plane = run.input<float>(0) + i / output_rows_ * height_ * width_;
      const float* row = plane;
      // Rows first, into a row as wide as the image, which all columns of the output read.
      if (has_rows_) {
        SLUICE_CPU_PICK(isa_, resize_between_rows)
        (rows_.view(), i % output_rows_, plane, width_, between);
        row = between;
      }
      SLUICE_CPU_PICK(isa_, resize_between_columns)
      (columns, row, run.output<float>(0) + i * columns.size);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, height_, width_, sizeof(float)});
    extents.writes(0, {planes_, output_rows_, columns_.view().size, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return width_ * static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    const auto neighbours = static_cast<double>(columns_.view().count);
    return static_cast<double>(planes_ * output_rows_) * neighbours *
           (static_cast<double>(width_) * 0.1 + static_cast<double>(columns_.view().size) * 0.5);
  }

 private:
  Neighbours columns_;
  Neighbours rows_;
  Isa isa_;
  std::int64_t planes_ = 1;
  std::int64_t height_ = 1;
  std::int64_t width_ = 1;
  std::int64_t output_rows_ = 1;
  bool has_rows_ = false;
};

}  // namespace

Status check_resize_planes(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kF32 || x.rank < 3 || x.rank > 4) return unimplemented("no image");
  if (x.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("not row-major");
  }
  return check_resize_attributes(op, {"nearest", "linear", "cubic"});
}

Status make_resize_planes(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<ResizePlanes>(op, isa);
  return plugin::ok();
}

}  // namespace sluice::cpu
