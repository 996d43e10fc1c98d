// Resize of row-major tensors: each output row is a weighted sum of rows of up to two axes, then of
// the columns of that sum.

#include "ops/image/resize_planes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/image/resize_row.h"
#include "ops/image/resize_neighbours.h"
#include "ops/image/resize_taps.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

/// The last axes, which are resized together; a tensor that has fewer gets some of one element.
constexpr int kAxes = 3;

/// What differs between element types: the numbers of the sum, and the kernels. `nearest` may be
/// null.
template <typename T, typename Sum>
struct ResizeKernels {
  using Element = T;
  using Weight = Sum;
  void (*add_row)(const T*, Sum, std::int64_t, bool, Sum*);
  void (*between_columns)(const ResizeWeights&, const Sum*, std::int64_t, T*, std::int64_t);
  void (*nearest)(const ResizeWeights&, const std::int32_t*, std::int64_t, const T*, std::int64_t,
                  T*) = nullptr;
};

template <typename Kernels>
class ResizePlanes : public Kernel {
 public:
  using T = typename Kernels::Element;
  using Sum = typename Kernels::Weight;

  ResizePlanes(const sluice_op& op, Kernels kernels) : Kernel(op), kernels_(kernels) {
    const auto x = plugin::dims_of(op.inputs[0].tensor);
    const std::int32_t rank = op.inputs[0].tensor.rank;
    for (int i = 0; i < kAxes; ++i) {
      const int dim = rank - kAxes + i;
      if (dim >= 0) axes_[i] = resize_neighbours(op, dim);
      if (dim >= 0) in_[i] = x[static_cast<std::size_t>(dim)];
    }
    volumes_ = product(x, 0, std::max(rank - kAxes, 0));
    if (!std::is_same_v<T, Sum> && axes_[2].is_identity() && !axes_[1].is_identity()) {
      join_channels();
    }
    takes_nearest_ = kernels.nearest != nullptr && !axes_[2].is_identity() && axes_[0].is_one() &&
                     axes_[1].is_one() && axes_[2].is_one() && axes_[2].size() >= kLeastNearest &&
                     in_[2] >= kLeastNearest;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t rows = axes_[0].size() * axes_[1].size();
    const Share share = share_of(volumes_ * rows, 1, worker);
    // Counted up: for short rows three divisions would take longer than the rest.
    std::int64_t d = share.begin % rows / axes_[1].size();
    std::int64_t h = share.begin % axes_[1].size();
    const T* volume = run.input<T>(0) + share.begin / rows * volume_elements();
    T* output = run.output<T>(0) + share.begin * axes_[2].size();
    for (std::int64_t i = share.begin, copies = 0; i < share.end; i += copies) {
      const T* only = only_row(volume, d, h);
      const std::int64_t most = std::min(axes_[1].size() - h, share.end - i);
      copies = only == nullptr ? 1 : takes_nearest_ ? most : equal_rows(h, most);
      if (takes_nearest_) {
        kernels_.nearest(axes_[2].view(), axes_[1].view().index + h, copies,
                         row_at(volume, axes_[0].index(d, 0), 0), in_[2], output);
      } else if (only != nullptr && axes_[2].is_identity()) {
        for (std::int64_t copy = 0; copy < copies; ++copy) {
          std::memcpy(output + copy * axes_[2].size(), only, row_bytes());
        }
      } else {
        auto* sum = reinterpret_cast<Sum*>(worker.scratch);
        kernels_.between_columns(axes_[2].view(), sum_rows(volume, d, h, only, sum), in_[2], output,
                                 copies);
      }
      output += copies * axes_[2].size();
      h += copies;
      if (h < axes_[1].size()) continue;
      h = 0;
      if (++d < axes_[0].size()) continue;
      d = 0;
      volume += volume_elements();
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {volumes_, in_[0], in_[1], in_[2], sizeof(T)});
    extents.writes(0, {volumes_, axes_[0].size(), axes_[1].size(), axes_[2].size(), sizeof(T)});
  }
  std::int64_t scratch_bytes() const override {
    return in_[2] * static_cast<std::int64_t>(sizeof(Sum));
  }
  double cost_ns() const override {
    const auto rows = static_cast<double>(volumes_ * axes_[0].size() * axes_[1].size());
    const auto sums = static_cast<double>(axes_[0].count() * axes_[1].count() * in_[2]);
    return rows * (sums * 0.1 + static_cast<double>(axes_[2].count() * axes_[2].size()) * 0.3);
  }

 private:
  /// Pixels of a row and their channels become its columns, so that the axes before are summed one
  /// after the other.
  void join_channels() {
    axes_[2] = axes_[1].of_pixels(in_[2]);
    in_[2] *= in_[1];
    axes_[1] = std::move(axes_[0]);
    in_[1] = in_[0];
    axes_[0] = ResizeNeighbours();
    in_[0] = 1;
  }

  std::size_t row_bytes() const { return static_cast<std::size_t>(axes_[2].size()) * sizeof(T); }

  const T* row_at(const T* volume, std::int64_t slice, std::int64_t row) const {
    return volume + (slice * in_[1] + row) * in_[2];
  }

  std::int64_t volume_elements() const { return in_[0] * in_[1] * in_[2]; }

  /// The one row that row `h` of slice `d` is made of; null if there are several.
  const T* only_row(const T* volume, std::int64_t d, std::int64_t h) const {
    if (!axes_[0].is_one() || !axes_[1].is_one()) return nullptr;
    return row_at(volume, axes_[0].index(d, 0), axes_[1].index(h, 0));
  }

  /// Rows from `h` on, at most `most`, that are the same row of the input.
  std::int64_t equal_rows(std::int64_t h, std::int64_t most) const {
    std::int64_t count = 1;
    while (count < most && axes_[1].index(h + count, 0) == axes_[1].index(h, 0)) ++count;
    return count;
  }

  /// The sum of the rows that row `h` of slice `d` is made of, in `sum` unless it is a row of the
  /// input.
  const Sum* sum_rows(const T* volume, std::int64_t d, std::int64_t h, const T* only,
                      Sum* sum) const {
    if constexpr (std::is_same_v<T, Sum>) {
      if (only != nullptr) return only;
    }
    bool is_first = true;
    for (std::int64_t slice = 0; slice < axes_[0].count(); ++slice) {
      for (std::int64_t row = 0; row < axes_[1].count(); ++row) {
        const double weight = axes_[0].weight(d, slice) * axes_[1].weight(h, row);
        kernels_.add_row(row_at(volume, axes_[0].index(d, slice), axes_[1].index(h, row)),
                         static_cast<Sum>(weight), in_[2], is_first, sum);
        is_first = false;
      }
    }
    return sum;
  }

  Kernels kernels_;
  ResizeNeighbours axes_[kAxes] = {};
  std::int64_t in_[kAxes] = {1, 1, 1};
  std::int64_t volumes_ = 1;
  bool takes_nearest_ = false;  ///< each output is an input: several rows at a time
};

template <typename Kernels>
std::unique_ptr<Kernel> make_planes(const sluice_op& op, Kernels kernels) {
  return std::make_unique<ResizePlanes<Kernels>>(op, kernels);
}

/// Bytes agree with the reference kernels to the last bit, which sum one axis after another: that
/// is, as here, if at most two axes change.
bool is_exact(const sluice_op& op) {
  int changed = 0;
  for (int dim = 0; dim < op.inputs[0].tensor.rank; ++dim) {
    changed += resize_axis(op, dim).is_identity() ? 0 : 1;
  }
  return changed <= 2;
}

}  // namespace

Status check_resize_planes(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kF32 && x.element_type != plugin::kU8 &&
      x.element_type != plugin::kI8) {
    return unimplemented("neither f32 nor bytes");
  }
  if (x.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("not row-major");
  }
  return check_resize_attributes(op, {"nearest", "linear", "cubic"},
                                 {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
                                  "tf_half_pixel_for_nn", "half_pixel_symmetric"});
}

Status make_resize_planes(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (plugin::num_elements(x) < 1 || plugin::num_elements(op.outputs[0].tensor) < 1) {
    return unimplemented("an empty image");
  }
  for (int dim = 0; dim < x.rank; ++dim) {
    const ResizeAxis axis = resize_axis(op, dim);
    if (dim < x.rank - kAxes && !axis.is_identity()) return unimplemented("resized channels");
    if (1 / axis.scale > 4.0 * static_cast<double>(axis.in)) return unimplemented("a huge filter");
  }
  if (x.element_type == plugin::kF32) {
    *kernel =
        make_planes(op, ResizeKernels<float, float>{SLUICE_CPU_PICK(isa, resize_add_row),
                                                    SLUICE_CPU_PICK(isa, resize_between_columns),
                                                    SLUICE_CPU_PICK(isa, resize_nearest)});
    return plugin::ok();
  }
  if (!is_exact(op)) return unimplemented("bytes resized along three axes");
  if (x.element_type == plugin::kU8) {
    *kernel = make_planes(
        op, ResizeKernels<std::uint8_t, double>{SLUICE_CPU_PICK(isa, resize_add_row_u8),
                                                SLUICE_CPU_PICK(isa, resize_between_columns_u8)});
  } else {
    *kernel = make_planes(
        op, ResizeKernels<std::int8_t, double>{SLUICE_CPU_PICK(isa, resize_add_row_i8),
                                               SLUICE_CPU_PICK(isa, resize_between_columns_i8)});
  }
  return plugin::ok();
}

}  // namespace sluice::cpu
