// MaxPool with the places of its results.

#include "ops/image/pool/pool_places.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "conv/columns/columns.h"
#include "kernels/image/transpose.h"
#include "kernels/rows/top_k.h"
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

/// A row of windows at a time: the elements that one tap meets stand side by side, and each tap's
/// replace the best so far. Windows without elements, or with infinities alone, which replace
/// nothing, are looked at one by one.
class PoolPlaces : public Kernel {
 public:
  PoolPlaces(const sluice_op& op, const ColumnWindow& window, Isa isa)
      : Kernel(op),
        keep_extremes_(SLUICE_CPU_PICK(isa, keep_extremes)),
        every_second_(SLUICE_CPU_PICK(isa, every_second)),
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
    for (std::int64_t k = 0; k < window.kernel[2]; ++k) columns_.push_back(windows_inside(k));
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t rows = window_.windows[0] * window_.windows[1];
    const Share share = share_of(planes_ * rows, 1, worker);
    Scratch scratch(worker.scratch, window_);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t base = i / rows * window_.pixels();
      const std::int64_t d = i % rows / window_.windows[1];
      const std::int64_t h = i % window_.windows[1];
      const float* plane = run.input<float>(0) + base;
      find_row(plane, d, h, scratch);
      float* values = run.output<float>(0) + i * window_.windows[2];
      std::int64_t* places = run.output<std::int64_t>(1) + i * window_.windows[2];
      for (std::int64_t w = 0; w < window_.windows[2]; ++w) {
        const std::int32_t tap = scratch.taps[w];
        const Best best = tap < 0
                              ? find(plane, d, h, w)
                              : Best{scratch.best[w], scratch.offsets[tap] + w * window_.stride[2]};
        values[w] = best.value;
        places[w] = best.at < 0 ? 0 : base + place_of(best.at);
      }
    }
  }
  std::int64_t scratch_bytes() const override { return Scratch::bytes(window_); }

  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, window_.pixels(), sizeof(float)});
    extents.writes(0, {planes_, window_.places(), sizeof(float)});
    extents.writes(1, {planes_, window_.places(), sizeof(std::int64_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(planes_ * window_.places()) *
           (2 + 0.5 * static_cast<double>(window_.taps()));
  }

 private:
  /// Scratch of a row of windows, and where each tap lies in the plane for window 0.
  struct Scratch {
    Scratch(std::byte* base, const ColumnWindow& w)
        : offsets(reinterpret_cast<std::int64_t*>(base)),
          best(reinterpret_cast<float*>(offsets + w.taps())),
          met(best + w.windows[2]),
          taps(reinterpret_cast<std::int32_t*>(met + w.windows[2])) {}
    static std::int64_t bytes(const ColumnWindow& w) {
      return w.taps() * static_cast<std::int64_t>(sizeof(std::int64_t)) +
             w.windows[2] * static_cast<std::int64_t>(2 * sizeof(float) + sizeof(std::int32_t));
    }
    std::int64_t* offsets;
    float* best;
    float* met;          ///< by one tap
    std::int32_t* taps;  ///< of `best`; -1 before the first
  };

  /// The windows whose tap `k` of the last axis lies in the image.
  Share windows_inside(std::int64_t k) const {
    const std::int64_t first = at(2, 0, k);
    const std::int64_t stride = window_.stride[2];
    const std::int64_t begin = first >= 0 ? 0 : (stride - 1 - first) / stride;
    const std::int64_t end =
        first >= window_.image[2] ? 0 : (window_.image[2] - 1 - first) / stride + 1;
    return {begin, std::min(end, window_.windows[2])};
  }

  void find_row(const float* plane, std::int64_t d, std::int64_t h, Scratch& scratch) const {
    const Share slices = taps_[0][static_cast<std::size_t>(d)];
    const Share rows = taps_[1][static_cast<std::size_t>(h)];
    std::fill_n(scratch.best, window_.windows[2], -std::numeric_limits<float>::infinity());
    std::fill_n(scratch.taps, window_.windows[2], -1);
    for (std::int64_t kd = slices.begin; kd < slices.end; ++kd) {
      for (std::int64_t kh = rows.begin; kh < rows.end; ++kh) {
        const std::int64_t row =
            (at(0, d, kd) * window_.image[1] + at(1, h, kh)) * window_.image[2];
        const std::int64_t tap = (kd * window_.kernel[1] + kh) * window_.kernel[2];
        for (std::int64_t kw = 0; kw < window_.kernel[2]; ++kw) {
          scratch.offsets[tap + kw] = row + at(2, 0, kw);
          keep(plane + row, kw, static_cast<std::int32_t>(tap + kw), scratch);
        }
      }
    }
  }

  void keep(const float* row, std::int64_t kw, std::int32_t tap, Scratch& scratch) const {
    const Share some = columns_[static_cast<std::size_t>(kw)];
    if (some.begin >= some.end) return;
    const std::int64_t count = some.end - some.begin;
    const float* met = row + at(2, some.begin, kw);
    if (window_.stride[2] == 2) {
      every_second_(met, count, scratch.met);
    } else if (window_.stride[2] != 1) {
      for (std::int64_t i = 0; i < count; ++i) scratch.met[i] = met[i * window_.stride[2]];
    }
    keep_extremes_(window_.stride[2] == 1 ? met : scratch.met, count, tap, true, false,
                   scratch.best + some.begin, scratch.taps + some.begin);
  }

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

  decltype(&portable::keep_extremes) keep_extremes_;
  decltype(&portable::every_second) every_second_;
  ColumnWindow window_;
  std::int64_t planes_;
  bool is_column_major_;
  std::vector<Share> taps_[ColumnWindow::kAxes];  ///< of each place along an axis
  std::vector<Share> columns_;                    ///< windows that meet the image, of each tap
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

Status make_pool_places(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = plugin::dims_of(op.inputs[0].tensor);
  const auto y = plugin::dims_of(op.outputs[0].tensor);
  ColumnWindow window;
  const Status status = read_column_window(op, plugin::Attributes(op).get_ints("kernel_shape"),
                                           y.subspan(2), x.subspan(2), &window);
  if (!status.is_ok()) return status;
  if (x[0] != y[0] || x[1] != y[1]) return unimplemented("shapes that do not fit");
  constexpr std::int64_t kMostTaps = 1 << 16;  // each has a number in a worker's scratch
  if (window.taps() > kMostTaps) return unimplemented("so large a window");
  *kernel = std::make_unique<PoolPlaces>(op, window, isa);
  return plugin::ok();
}

}  // namespace sluice::cpu
