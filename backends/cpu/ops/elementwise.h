#pragma once

#include <memory>
#include <vector>

#include "isa.h"
#include "ops/broadcast.h"
#include "ops/chain.h"

namespace sluice::cpu {

/// Ok if every source of `chain` broadcasts to `out`, in the layouts they have.
Status check_sources(const sluice_op& op, const Chain& chain, const sluice_tensor& out);

/// A chain over whole tensors, cut into tiles. In c16 it goes over the channels that pad the last
/// block, too.
class ElementwisePass {
 public:
  /// Requires: every source has memory dimensions within `out` that broadcast to it.
  ElementwisePass(Chain chain, const sluice_tensor& out, Isa isa);

  /// Writes this worker's tiles of `out`; the operation's own result is read from there.
  void run(const Run& run, float* out, const Worker& worker) const;

  std::int64_t scratch_bytes() const { return chain_.body.scratch_bytes(); }
  double cost_ns() const;

 private:
  void run_tile(std::int64_t index, const float* const* sources, float* out, float* scratch) const;

  Chain chain_;
  RunBody run_body_;
  std::int64_t elements_ = 1;
  Walk walk_;  ///< strides: of the output, then of the sources
  std::int64_t tile_rows_ = 1;
  std::int64_t tile_cols_ = 1;
  std::int64_t row_tiles_ = 1;
  std::int64_t col_tiles_ = 1;
  std::int64_t tiles_ = 0;
};

}  // namespace sluice::cpu
