#pragma once

#include "conv/direct/conv_plan.h"
#include "core/worker.h"

namespace sluice::cpu {

/// The tensors of one run. `output` may be `residual`; nothing else overlaps.
struct ConvArgs {
  const float* input = nullptr;
  const float* weights = nullptr;  ///< from ConvPacking::pack
  const float* bias = nullptr;  ///< one per output channel, zeros up to the end of the last block
  const float* residual = nullptr;  ///< when the epilogue has one
  float* output = nullptr;
  const float* extra[kBodyMaxInputs] = {};      ///< operands of the epilogue's body, from 1 on
  const std::uint16_t* half_weights = nullptr;  ///< replaces `weights` for plans of 16-bit weights
  /// Numbers from the weights to those of the convolution that follows, fetched towards the end.
  std::int64_t next_weights = 0;
};

/// How the workers of a group share a convolution: `over_rows` groups of output rows by as many
/// groups of panels as make up the rest.
struct ConvGrid {
  int over_rows = 1;
  int over_panels = 1;

  bool operator==(const ConvGrid&) const = default;
};

ConvGrid choose_grid(const ConvPlan& plan, int workers);

/// This worker's share of the convolution. Requires: worker.scratch of plan.scratch_bytes().
void run_conv(const ConvPlan& plan, const ConvArgs& args, const Worker& worker);

}  // namespace sluice::cpu
