// MaxPool with the places of its results.

#include "ops/image/pool_places.h"

#include <limits>
#include <memory>
#include <vector>

#include "conv/columns/columns.h"
#include "ops/image/window.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

/// The largest element of a window and its offset in the plane; -1 before the first.
struct Best {
  float value = std::numeric_limits<float>::lowest();
  std::int64_t at = -1;

  /// A NaN exceeds every number; of equal elements the first stays.
  void take(float x, std::int64_t offset) {
    const bool exceeds = x > value || (x != x && value == value);
    if (at >= 0 && !exceeds) return;
    value = x;
    at = offset;
  }
};

class PoolPlaces : public Kernel {
 public:
  PoolPlaces(const sluice_op& op, const ColumnWindow& window)
      : Kernel(op),
        window_(window),
        planes_(op.inputs[0].tensor.dims[0] * op.inputs[0].tensor.dims[1]),
        is_column_major_(plugin::Attributes(op).get_int("storage_order") != 0) {
    // Without outputs one axis may be as long as it likes.
    if (planes_ * window.places() == 0) return;
    for (int d = 0; d < ColumnWindow::kAxes; ++d) {
      for (std::int64_t i = 0; i < window.windows[d]; ++i) {
        taps_[d].push_back(taps_within(i * window.stride[d] - window.pad[d], window.dilation[d],
                                       window.kernel[d], 0, window.image[d]));
      }
    }
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t rows = window_.windows[0] * window_.windows[1];
    const Share share = share_of(planes_ * rows, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t base = i / rows * window_.pixels();
      for (std::int64_t w = 0; w < window_.windows[2]; ++w) {
        const std::int64_t d = i % rows / window_.windows[1];
        const Best best = find(run.input<float>(0) + base, d, i % window_.windows[1], w);
        const std::int64_t to = i * window_.windows[2] + w;
        run.output<float>(0)[to] = best.value;
        run.output<std::int64_t>(1)[to] = best.at < 0 ? 0 : base + place_of(best.at);
      }
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, window_.pixels(), sizeof(float)});
    extents.writes(0, {planes_, window_.places(), sizeof(float)});
    extents.writes(1, {planes_, window_.places(), sizeof(std::int64_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(planes_ * window_.places()) *
           (2 + static_cast<double>(window_.taps()));
  }

 private:
  Best find(const float* plane, std::int64_t d, std::int64_t h, std::int64_t w) const {
    const Share slices = taps_[0][static_cast<std::size_t>(d)];
    const Share rows = taps_[1][static_cast<std::size_t>(h)];
    const Share columns = taps_[2][static_cast<std::size_t>(w)];
    Best best;
    for (std::int64_t kd = slices.begin; kd < slices.end; ++kd) {
      for (std::int64_t kh = rows.begin; kh < rows.end; ++kh) {
        const std::int64_t row =
            (at(0, d, kd) * window_.image[1] + at(1, h, kh)) * window_.image[2];
        for (std::int64_t kw = columns.begin; kw < columns.end; ++kw) {
          const std::int64_t offset = row + at(2, w, kw);
          best.take(plane[offset], offset);
        }
      }
    }
    return best;
  }
  std::int64_t at(int axis, std::int64_t place, std::int64_t tap) const {
    return place * window_.stride[axis] - window_.pad[axis] + tap * window_.dilation[axis];
  }
  /// In the order that the operation asks for: of column-major places the first axis is the
  /// nearest.
  std::int64_t place_of(std::int64_t offset) const {
    if (!is_column_major_) return offset;
    const std::int64_t column = offset % window_.image[2];
    const std::int64_t row = offset / window_.image[2] % window_.image[1];
    const std::int64_t slice = offset / window_.image[2] / window_.image[1];
    return (column * window_.image[1] + row) * window_.image[0] + slice;
  }

  ColumnWindow window_;
  std::int64_t planes_;
  bool is_column_major_;
  std::vector<Share> taps_[ColumnWindow::kAxes];  ///< of each place along an axis
};

}  // namespace

Status check_pool_places(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  const sluice_tensor& places = op.outputs[1].tensor;
  if (x.element_type != plugin::kF32 || places.element_type != plugin::kI64) {
    return unimplemented("not f32 with places of i64");
  }
  if (x.rank < 3 || x.rank > 5 || y.rank != x.rank || places.rank != x.rank) {
    return unimplemented("other ranks");
  }
  for (const sluice_tensor* tensor : {&x, &y, &places}) {
    if (tensor->layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
  }
  return plugin::ok();
}

Status make_pool_places(const sluice_op& op, std::unique_ptr<Kernel>* kernel) {
  const auto x = plugin::dims_of(op.inputs[0].tensor);
  const auto y = plugin::dims_of(op.outputs[0].tensor);
  ColumnWindow window;
  const Status status = read_column_window(op, plugin::Attributes(op).get_ints("kernel_shape"),
                                           y.subspan(2), x.subspan(2), &window);
  if (!status.is_ok()) return status;
  if (x[0] != y[0] || x[1] != y[1]) return unimplemented("shapes that do not fit");
  *kernel = std::make_unique<PoolPlaces>(op, window);
  return plugin::ok();
}

}  // namespace sluice::cpu
