#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/stop.h"
#include "kernels/matrix/gemm.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matrix/block_form.h"
#include "ops/matrix/byte_matrix.h"
#include "ops/matrix/packed_matrix.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// What MatMul, Gemm and Einsum come down to: a product, then an element-wise chain over its
/// result.
struct MatrixProduct {
  GemmPlan plan;
  std::optional<MatrixConstant> constant_b;  ///< B is constant and goes into panels
  std::optional<BlockForm> blocks;           ///< of a B that has scales by blocks
  int a_input = 0;
  int b_input = 1;      ///< unless it is constant
  int bias_input = -1;  ///< input with one float per column
  Chain chain;          ///< empty body for none
  /// Leading dimensions of the result that `plan.m` has swallowed besides the rows.
  int merged_dims = 0;
};

/// The chain runs on the product's tiles where its operands allow it, else as a second phase.
class MatrixKernel : public Kernel, public LooksAtStop {
 public:
  MatrixKernel(const sluice_op& op, MatrixProduct product, Isa isa);

  void run(const Run& run, int phase, const Worker& worker) const override;
  void extents(Extents& extents) const override;
  int phases() const override { return product_phases() + (second_pass_ ? 1 : 0); }
  std::int64_t shared_bytes() const override { return bytes_ ? bytes_->shared_bytes() : 0; }
  std::int64_t scratch_bytes() const override;
  double cost_ns() const override;

 private:
  bool takes_scale();
  bool place_epilogue();
  void tell_b(Extents& extents) const;
  int product_phases() const { return bytes_ ? 2 : 1; }
  std::int64_t product_scratch_bytes() const;

  /// How the product is cut for Strassen's method; null where it is not.
  const StrassenCut* strassen() const {
    const auto& b = product_.constant_b;
    return b && b->cut.levels > 0 ? &b->cut : nullptr;
  }

  MatrixProduct product_;
  Isa isa_;
  std::optional<PackedMatrix> packed_b_;
  std::optional<ByteProduct> bytes_;
  std::vector<std::uint8_t> narrow_;  ///< of the panels of `bytes_`
  std::optional<ElementwisePass> second_pass_;
};

}  // namespace sluice::cpu
