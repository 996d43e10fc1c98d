#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/isa.h"
#include "kernels/convert/convert.h"
#include "ops/elementwise/chain.h"
#include "ops/operands/broadcast.h"

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
  void run(const Run& run, void* out, const Worker& worker) const;

  /// Extents of what is read from operands. The output's memory dimensions are its own.
  void extents(Extents& extents) const;

  std::int64_t scratch_bytes() const;
  double cost_ns() const;

 private:
  /// An operand in memory; the output is operand 0. `buffer` holds the tile as floats where that
  /// is not how it lies in memory.
  struct Typed {
    Storage storage = Storage::kF32;
    std::int64_t buffer = -1;  ///< number, from 0 on
  };

  void run_tile(std::int64_t index, const std::byte* const* operands, std::byte* out,
                float* scratch) const;
  BodyOperand widened(std::size_t operand, const std::byte* data, const BodyTile& tile,
                      float* buffer) const;
  void store(const BodyTile& tile, std::byte* out) const;

  Chain chain_;
  std::vector<Typed> types_;  ///< as the strides
  std::int64_t buffers_ = 0;
  RunBody run_body_;
  decltype(&portable::to_floats) to_floats_;
  decltype(&portable::from_floats) from_floats_;
  std::int64_t elements_ = 1;
  Walk walk_;  ///< strides: of the output, then of the sources
  std::int64_t tile_rows_ = 1;
  std::int64_t tile_cols_ = 1;
  std::int64_t row_tiles_ = 1;
  std::int64_t col_tiles_ = 1;
  std::int64_t tiles_ = 0;
};

}  // namespace sluice::cpu
