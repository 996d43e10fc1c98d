// LRN in c16 and in row-major images.

#include "kernels/image/lrn.h"

#include "ops/image/window.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

Status check_lrn(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  if (x.layout != op.outputs[0].tensor.layout) return unimplemented("unlike layouts");
  const std::int64_t size = plugin::Attributes(op).get_int("size");
  if (size < 1 || size > 1024) return unimplemented("size out of range");
  if (x.layout == SLUICE_LAYOUT_C16) return check_image(x);
  const bool is_image = x.layout == SLUICE_LAYOUT_ROW_MAJOR && x.rank >= 2 &&
                        x.element_type == plugin::kF32 &&
                        op.outputs[0].tensor.element_type == plugin::kF32;
  return is_image ? plugin::ok() : unimplemented("not an image of f32");
}

class Lrn : public Kernel {
 public:
  Lrn(const sluice_op& op, Isa isa) : Kernel(op) {
    const sluice_tensor& x = op.inputs[0].tensor;
    const bool is_c16 = x.layout == SLUICE_LAYOUT_C16;
    normalize_ = is_c16 ? SLUICE_CPU_PICK(isa, lrn_pixels) : SLUICE_CPU_PICK(isa, lrn_planes);
    block_channels_ = is_c16 ? kBlock : 1;
    const plugin::Attributes attributes(op);
    images_ = x.dims[0];
    pixels_ = product(plugin::dims_of(x), 2, x.rank);
    plan_.channels = x.dims[1];
    plan_.block = pixels_ * block_channels_;
    plan_.size = attributes.get_int("size");
    plan_.alpha = attributes.get_float("alpha", 1e-4F);
    plan_.beta = attributes.get_float("beta", 0.75F);
    plan_.bias = attributes.get_float("bias", 1.0F);
    scratch_floats_ = is_c16 ? plan_.pixel_scratch() : plan_.plane_scratch();
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(pixels_, kBlock, worker);
    const std::int64_t image = blocks() * plan_.block;
    for (std::int64_t n = 0; n < images_; ++n) {
      const std::int64_t first = n * image + share.begin * block_channels_;
      normalize_(plan_, run.input<float>(0) + first, share.end - share.begin,
                 run.output<float>(0) + first, reinterpret_cast<float*>(worker.scratch));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {images_, blocks(), pixels_, block_channels_, sizeof(float)});
    extents.writes(0, {images_, blocks(), pixels_, block_channels_, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return scratch_floats_ * static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    return static_cast<double>(images_ * pixels_ * plan_.channels * (plan_.size + 4)) * 0.05;
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  std::int64_t blocks() const {
    return block_channels_ == 1 ? plan_.channels : blocks_of(plan_.channels);
  }

  LrnPlan plan_;
  std::int64_t block_channels_ = 1;
  std::int64_t scratch_floats_ = 0;
  std::int64_t images_ = 0;
  std::int64_t pixels_ = 0;
  decltype(&portable::lrn_pixels) normalize_ = nullptr;
};

Status make_lrn(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<Lrn>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> lrn_entries() {
  return {{.kind = "LRN", .check = check_lrn, .make = make_lrn}};
}

}  // namespace sluice::cpu
