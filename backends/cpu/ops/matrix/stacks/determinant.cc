// Det of row-major f32 or f64.

#include "kernels/matrix/determinant.h"

#include <memory>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Each matrix is copied to scratch and eliminated there, in doubles.
template <typename T>
class Det : public Kernel {
 public:
  Det(const sluice_op& op, std::int64_t matrices, std::int64_t n, Isa isa)
      : Kernel(op), matrices_(matrices), n_(n), determinant_(SLUICE_CPU_PICK(isa, determinant)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    auto* matrix = reinterpret_cast<double*>(worker.scratch);
    const Share share = share_of(matrices_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const T* x = run.input<T>(0) + i * n_ * n_;
      for (std::int64_t j = 0; j < n_ * n_; ++j) matrix[j] = static_cast<double>(x[j]);
      run.output<T>(0)[i] = static_cast<T>(determinant_(matrix, n_));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {matrices_, n_, n_, sizeof(T)});
    extents.writes(0, {matrices_, sizeof(T)});
  }
  std::int64_t scratch_bytes() const override {
    return n_ * n_ * static_cast<std::int64_t>(sizeof(double));
  }
  double cost_ns() const override {
    const auto n = static_cast<double>(n_);
    return static_cast<double>(matrices_) * (10 + n * n * (1 + n * 0.1));
  }

 private:
  std::int64_t matrices_, n_;
  decltype(&portable::determinant) determinant_;
};

Status check_det(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (op.body != nullptr) return unimplemented("fused body");
  if (x.element_type != plugin::kF32 && x.element_type != plugin::kF64) {
    return unimplemented("no form for the type");
  }
  const bool fits = x.rank >= 2 && x.layout == SLUICE_LAYOUT_ROW_MAJOR &&
                    op.outputs[0].tensor.element_type == x.element_type;
  return fits ? plugin::ok() : unimplemented("other operands");
}

Status make_det(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = dims_of(op.inputs[0].tensor);
  const std::int64_t n = x.back();
  const std::int64_t matrices = product(x, 0, static_cast<std::int64_t>(x.size()) - 2);
  if (x[x.size() - 2] != n || plugin::num_elements(x) < 1) {
    return unimplemented("matrices that are not square, or empty");
  }
  if (op.inputs[0].tensor.element_type == plugin::kF64) {
    *kernel = std::make_unique<Det<double>>(op, matrices, n, isa);
  } else {
    *kernel = std::make_unique<Det<float>>(op, matrices, n, isa);
  }
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> det_entries() {
  return {{.kind = "Det", .check = check_det, .make = make_det}};
}

}  // namespace sluice::cpu
