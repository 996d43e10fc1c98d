#pragma once

#include <memory>
#include <vector>

#include "isa.h"
#include "ops/broadcast.h"
#include "ops/chain.h"

namespace sluice::cpu {

/// A chain over whole tensors, cut into tiles.
class ElementwisePass {
 public:
  /// Requires: every source broadcasts to `dims`.
  ElementwisePass(Chain chain, std::span<const std::int64_t> dims, Isa isa);

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
