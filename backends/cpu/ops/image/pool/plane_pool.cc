#include "ops/image/pool/plane_pool.h"

#include <algorithm>

#include "core/divide.h"
#include "kernels/image/pool_plane.h"

namespace sluice::cpu {
namespace {

/// The size of both scratch planes together.
constexpr std::int64_t kScratchFloats = 6 << 10;

/// Rows and columns that a window reaches beyond its first.
Extent reach_of(const Window& w) {
  return {(w.kernel.h - 1) * w.dilation.h, (w.kernel.w - 1) * w.dilation.w};
}

/// Output rows whose scratch planes have kScratchFloats, about; 0 if not even one fits.
std::int64_t rows_together(const Window& w, Extent output) {
  const Extent reach = reach_of(w);
  if (output.h < 1 || output.w < 1 || output.w + reach.w > kScratchFloats) return 0;
  const std::int64_t most = (kScratchFloats / (output.w + reach.w) - reach.h) / 2;
  return most < 1 ? 0 : divide_up(output.h, divide_up(output.h, most));
}

/// Work is divided by plane and by band of rows.
class PlanePool : public Kernel {
 public:
  PlanePool(const sluice_op& op, const Window& window, Isa isa)
      : Kernel(op),
        window_(window),
        input_(spatial_extent(plugin::dims_of(op.inputs[0].tensor))),
        output_(spatial_extent(plugin::dims_of(op.outputs[0].tensor))),
        planes_(op.inputs[0].tensor.dims[0] * op.inputs[0].tensor.dims[1]),
        rows_(rows_together(window, output_)),
        pool_plane_(SLUICE_CPU_PICK(isa, pool_plane)) {
    plane_.input_cols = input_.w;
    plane_.pad_cols = window.pad_begin.w;
    plane_.output_rows = rows_;
    plane_.output_cols = output_.w;
    plane_.kernel_rows = window.kernel.h;
    plane_.kernel_cols = window.kernel.w;
    plane_.row_dilation = window.dilation.h;
    plane_.col_dilation = window.dilation.w;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t bands = divide_up(output_.h, rows_);
    const Share share = share_of(planes_ * bands, 1, worker);
    PoolPlane plane = plane_;
    plane.padded = reinterpret_cast<float*>(worker.scratch);
    plane.joined = plane.padded + plane_.padded_floats();
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t at = i / bands;
      const std::int64_t y = i % bands * rows_;
      place_band(y, plane);
      plane.has_padding = i > share.begin && bands == 1;
      const std::int64_t first = y - window_.pad_begin.h + plane.pad_rows;
      plane.input = run.input<float>(0) + (at * input_.h + first) * input_.w;
      plane.output = run.output<float>(0) + (at * output_.h + y) * output_.w;
      pool_plane_(plane);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, input_.h, input_.w, sizeof(float)});
    extents.writes(0, {planes_, output_.h, output_.w, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return (plane_.padded_floats() + plane_.joined_floats()) *
           static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    const auto taps = static_cast<double>(window_.kernel.h + window_.kernel.w);
    return static_cast<double>(planes_ * output_.h * output_.w) * taps * 0.03;
  }

 private:
  /// The rows of a band that begins with row `y` of the output.
  void place_band(std::int64_t y, PoolPlane& plane) const {
    plane.output_rows = std::min(rows_, output_.h - y);
    const std::int64_t first = y - window_.pad_begin.h;
    const std::int64_t begin = std::clamp<std::int64_t>(first, 0, input_.h);
    const std::int64_t end = std::min(first + plane.padded_rows(), input_.h);
    plane.pad_rows = begin - first;
    plane.rows = std::max<std::int64_t>(0, end - begin);
  }

  Window window_;
  Extent input_;
  Extent output_;
  std::int64_t planes_;
  std::int64_t rows_;  ///< of the output, of a band
  decltype(&portable::pool_plane) pool_plane_;
  PoolPlane plane_;
};

}  // namespace

bool suits_plane_pool(const Window& w, Extent input, Extent output) {
  if (w.stride.h != 1 || w.stride.w != 1 || output.h == 1) return false;
  const Extent reach = reach_of(w);
  // Bands copy the rows that windows reach into below them, too.
  if (rows_together(w, output) < std::max<std::int64_t>(1, std::min(output.h, reach.h))) {
    return false;
  }
  return w.pad_begin.w + input.w <= output.w + reach.w &&
         w.pad_begin.h + input.h <= output.h + reach.h;
}

std::unique_ptr<Kernel> make_plane_pool(const sluice_op& op, const Window& window, Isa isa) {
  return std::make_unique<PlanePool>(op, window, isa);
}

}  // namespace sluice::cpu
