#pragma once

#include <cstdint>

#include "conv/depthwise/depthwise_rows.h"
#include "conv/direct/conv.h"
#include "kernels/conv/depthwise_tile.h"

namespace sluice::cpu {

/// A convolution of every channel by a filter of its own, c16 to c16. Plain numbers, shared by all
/// workers and contexts.
struct DepthwisePlan {
  ConvShape shape;
  Extent output;
  ConvEpilogue epilogue;
  Isa isa = Isa::kPortable;
  bool reuses_input = false;  ///< the shape has a kernel that loads each input pixel once per row
  std::int64_t max_cols = 0;  ///< of a tile of that kernel

  std::int64_t scratch_bytes() const { return epilogue.body.body.scratch_bytes(); }
  const DepthwiseTileSet& tiles() const { return *SLUICE_CPU_PICK(isa, kDepthwiseTiles); }
};

/// Packed weights are [block][kernel.h][kernel.w][16], whatever batch, height, width and
/// instruction set.
std::int64_t packed_depthwise_size(const ConvShape& shape);  ///< floats
void pack_depthwise(const ConvShape& shape, const float* weights, float* packed);

/// Requires: refusal(shape) == nullptr, is_depthwise(shape).
DepthwisePlan plan_depthwise(const ConvShape& shape, const ConvEpilogue& epilogue, Isa isa,
                             const DepthwiseBlocks& blocks = {});

/// This worker's share. `args.weights` are from pack_depthwise.
void run_depthwise(const DepthwisePlan& plan, const ConvArgs& args, const Worker& worker);

}  // namespace sluice::cpu
