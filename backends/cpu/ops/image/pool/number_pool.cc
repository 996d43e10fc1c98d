#include "ops/image/pool/number_pool.h"

#include "kernels/image/pool_numbers.h"
#include "ops/elementwise/numbers_of.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

/// Work is divided by rows of windows.
class NumberPool : public Kernel {
 public:
  NumberPool(const sluice_op& op, const Window& window, Isa isa)
      : Kernel(op),
        window_(window),
        input_(spatial_extent(plugin::dims_of(op.inputs[0].tensor))),
        output_(spatial_extent(plugin::dims_of(op.outputs[0].tensor))),
        planes_(op.inputs[0].tensor.dims[0] * op.inputs[0].tensor.dims[1]),
        bytes_(element_bytes(op.inputs[0].tensor)),
        pool_(SLUICE_CPU_PICK(isa, pool_numbers)(*number_of(op.inputs[0].tensor.element_type))) {
    row_.input_row = window.dilation.h * input_.w;
    row_.input_cols = input_.w;
    row_.output_cols = output_.w;
    row_.kernel_cols = window.kernel.w;
    row_.stride = window.stride.w;
    row_.dilation = window.dilation.w;
    row_.pad_begin = window.pad_begin.w;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    NumberPoolRow row = row_;
    row.columns = worker.scratch;
    const Share share = share_of(planes_ * output_.h, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % output_.h * window_.stride.h - window_.pad_begin.h;
      const Share rows = taps_within(first, window_.dilation.h, window_.kernel.h, 0, input_.h);
      const std::int64_t y = first + rows.begin * window_.dilation.h;
      row.input = run.input<std::byte>(0) + (i / output_.h * input_.h + y) * input_.w * bytes_;
      row.rows = rows.end - rows.begin;
      row.output = run.output<std::byte>(0) + i * output_.w * bytes_;
      pool_(row);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, input_.h, input_.w, bytes_});
    extents.writes(0, {planes_, output_.h, output_.w, bytes_});
  }
  std::int64_t scratch_bytes() const override { return row_.padded_cols() * bytes_; }
  double cost_ns() const override {
    const auto taps = static_cast<double>(window_.kernel.h * window_.stride.w + window_.kernel.w);
    return static_cast<double>(planes_ * output_.h * output_.w) * taps * 0.1;
  }

 private:
  Window window_;
  Extent input_;
  Extent output_;
  std::int64_t planes_;
  std::int64_t bytes_;
  PoolNumbers pool_;
  NumberPoolRow row_;
};

/// Whether every window meets the image.
bool meets_image(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                 std::int64_t input, std::int64_t output) {
  return dilation == 1 && pad < kernel && (output - 1) * stride - pad < input;
}

}  // namespace

bool is_number_pool(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const auto type = number_of(x.element_type);
  const bool has_form = type == Number::kU8 || type == Number::kI8 || type == Number::kF64;
  return has_form && x.layout == SLUICE_LAYOUT_ROW_MAJOR && (x.rank == 3 || x.rank == 4) &&
         op.outputs[0].tensor.element_type == x.element_type;
}

Status make_number_pool(const sluice_op& op, const Window& window, Isa isa,
                        std::unique_ptr<Kernel>* kernel) {
  const Extent in = spatial_extent(plugin::dims_of(op.inputs[0].tensor));
  const Extent out = spatial_extent(plugin::dims_of(op.outputs[0].tensor));
  const double reach =
      static_cast<double>(window.pad_begin.w) +
      static_cast<double>(out.w) * static_cast<double>(window.stride.w) +
      static_cast<double>(window.kernel.w) * static_cast<double>(window.dilation.w);
  if (reach > 4.0 * static_cast<double>(in.w) + 1024) {
    return plugin::unimplemented("windows far behind the image");
  }
  const bool is_f64 = op.inputs[0].tensor.element_type == plugin::kF64;
  if (is_f64 && (!meets_image(window.kernel.h, window.stride.h, window.dilation.h,
                              window.pad_begin.h, in.h, out.h) ||
                 !meets_image(window.kernel.w, window.stride.w, window.dilation.w,
                              window.pad_begin.w, in.w, out.w))) {
    return plugin::unimplemented("windows in the padding alone");
  }
  *kernel = std::make_unique<NumberPool>(op, window, isa);
  return plugin::ok();
}

}  // namespace sluice::cpu
