#pragma once

#include "kernels/matrix/gemm.h"
#include "ops/matrix/byte_panels.h"

namespace sluice::cpu {

/// A product with a constant B in 8 bits; `plan` says the sizes and the epilogue. Rows of A are
/// rounded first, into memory that all workers see: two phases.
class ByteProduct {
 public:
  /// Requires: plan.a_step is 1, one batch item.
  ByteProduct(const GemmPlan& plan, Isa isa);

  const BytePanels& panels() const { return panels_; }
  std::int64_t shared_bytes() const;

  /// This worker's share of rounding A into `shared`.
  void round(const GemmArgs& args, std::byte* shared, const Worker& worker) const;

  /// This thread's share of the product, after all threads have rounded. `packed` comes from
  /// pack_byte_panels, `narrow` from find_narrow_panels, or null; `scratch` belongs to the
  /// epilogue.
  void multiply(const GemmArgs& args, const void* packed, const std::uint8_t* narrow,
                std::byte* shared, const Worker& worker) const;

 private:
  struct Region {
    std::int64_t row_begin, row_end;
    std::int64_t panel_begin, panel_end;
  };
  std::int64_t row_bytes() const { return panels_.groups() * kByteGroup; }
  std::int64_t scales_bytes() const { return (plan_->m * 4 + 63) / 64 * 64; }
  void run_block(const GemmArgs& args, const void* packed, const std::uint8_t* narrow,
                 std::byte* shared, const Region& block, float* temps) const;

  const GemmPlan* plan_;
  Isa isa_;
  BytePanels panels_;
};

}  // namespace sluice::cpu
