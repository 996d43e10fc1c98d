// LRN in c16.

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
  if (x.layout != SLUICE_LAYOUT_C16 || op.outputs[0].tensor.layout != SLUICE_LAYOUT_C16) {
    return unimplemented("not in c16");
  }
  const std::int64_t size = plugin::Attributes(op).get_int("size");
  if (size < 1 || size > 1024) return unimplemented("size out of range");
  return check_image(x);
}

class Lrn : public Kernel {
 public:
  Lrn(const sluice_op& op, Isa isa) : Kernel(op), lrn_pixels_(SLUICE_CPU_PICK(isa, lrn_pixels)) {
    const sluice_tensor& x = op.inputs[0].tensor;
    const plugin::Attributes attributes(op);
    images_ = x.dims[0];
    pixels_ = product(plugin::dims_of(x), 2, x.rank);
    plan_.channels = x.dims[1];
    plan_.block = pixels_ * kBlock;
    plan_.size = attributes.get_int("size");
    plan_.alpha = attributes.get_float("alpha", 1e-4F);
    plan_.beta = attributes.get_float("beta", 0.75F);
    plan_.bias = attributes.get_float("bias", 1.0F);
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(pixels_, 1, worker);
    const std::int64_t image = blocks_of(plan_.channels) * plan_.block;
    for (std::int64_t n = 0; n < images_; ++n) {
      const std::int64_t first = n * image + share.begin * kBlock;
      lrn_pixels_(plan_, run.input<float>(0) + first, share.end - share.begin,
                  run.output<float>(0) + first, reinterpret_cast<float*>(worker.scratch));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {images_, blocks_of(plan_.channels), pixels_, kBlock, sizeof(float)});
    extents.writes(0, {images_, blocks_of(plan_.channels), pixels_, kBlock, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return plan_.scratch_floats() * static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    return static_cast<double>(images_ * pixels_ * plan_.channels * (plan_.size + 4)) * 0.05;
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  LrnPlan plan_;
  std::int64_t images_ = 0;
  std::int64_t pixels_ = 0;
  decltype(&portable::lrn_pixels) lrn_pixels_;
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
