// Resize of images in c16, to the nearest pixel or linearly; others go to resize_planes.

#include <vector>

#include "kernels/image/resize_row.h"
#include "ops/image/resize_planes.h"
#include "ops/image/resize_taps.h"
#include "ops/image/window.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

Status check_resize(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.layout != SLUICE_LAYOUT_C16) return check_resize_planes(op);
  if (y.layout != SLUICE_LAYOUT_C16) return unimplemented("not in c16");
  if (Status status = check_image(x); !status.is_ok()) return status;
  const plugin::Attributes attributes(op);
  if (attributes.get_int("antialias") != 0 || attributes.get_int("exclude_outside") != 0 ||
      !attributes.get_ints("axes").empty()) {
    return unimplemented("attributes");
  }
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) return unimplemented("resized channels");
  return check_resize_attributes(
      op, {"nearest", "linear"},
      {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"});
}

class Resize : public Kernel {
 public:
  Resize(const sluice_op& op, Isa isa)
      : Kernel(op),
        is_nearest_(plugin::Attributes(op).get_text("mode", "nearest") == "nearest"),
        input_(spatial_extent(plugin::dims_of(op.inputs[0].tensor))),
        blocks_(op.inputs[0].tensor.dims[0] * blocks_of(op.inputs[0].tensor.dims[1])),
        cols_(resize_taps(op, op.inputs[0].tensor.rank - 1)),
        nearest_(SLUICE_CPU_PICK(isa, resize_row_nearest)),
        linear_(SLUICE_CPU_PICK(isa, resize_row_linear)) {
    rows_ = op.inputs[0].tensor.rank == 4 ? resize_taps(op, 2) : std::vector<ResizeTap>(1);
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const auto rows = static_cast<std::int64_t>(rows_.size());
    const auto cols = static_cast<std::int64_t>(cols_.size());
    const Share share = share_of(blocks_ * rows, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const ResizeTap& tap = rows_[static_cast<std::size_t>(i % rows)];
      const float* block = run.input<float>(0) + i / rows * input_.h * input_.w * kBlock;
      const float* first = block + tap.first * input_.w * kBlock;
      float* output = run.output<float>(0) + i * cols * kBlock;
      if (is_nearest_) {
        nearest_(cols_.data(), cols, first, output);
      } else {
        linear_(cols_.data(), cols, first, block + tap.second * input_.w * kBlock,
                tap.second_weight, output);
      }
    }
  }
  void extents(Extents& extents) const override {
    const auto pixels = static_cast<std::int64_t>(rows_.size() * cols_.size());
    extents.reads(0, {blocks_, input_.h, input_.w, kBlock, sizeof(float)});
    extents.writes(0, {blocks_, pixels, kBlock, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(blocks_) * static_cast<double>(rows_.size() * cols_.size()) * 2;
  }

 private:
  bool is_nearest_;
  Extent input_;
  std::int64_t blocks_;
  std::vector<ResizeTap> rows_;
  std::vector<ResizeTap> cols_;
  decltype(&portable::resize_row_nearest) nearest_;
  decltype(&portable::resize_row_linear) linear_;
};

Status make_resize(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (op.inputs[0].tensor.layout != SLUICE_LAYOUT_C16) return make_resize_planes(op, isa, kernel);
  const Extent in = spatial_extent(plugin::dims_of(op.inputs[0].tensor));
  if (in.h < 1 || in.w < 1) return unimplemented("an empty image");
  *kernel = std::make_unique<Resize>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> resize_entries() {
  return {{.kind = "Resize", .check = check_resize, .make = make_resize}};
}

}  // namespace sluice::cpu
