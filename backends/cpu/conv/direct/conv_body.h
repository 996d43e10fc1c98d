#pragma once

#include <cstdint>

#include "conv/conv_shape.h"
#include "kernels/body/body.h"

namespace sluice::cpu {

/// Where an operand of a fused body lies beside the output. Distances in floats, zero where the
/// operand is repeated.
struct ConvBodyOperand {
  std::int64_t image = 0;
  std::int64_t channel = 0;  ///< from one block of 16 channels, or one plane, to the next
  std::int64_t pixel = 0;    ///< in planes 0 or 1
  std::int64_t lane = 0;     ///< within a block: 0 or 1
};

/// An element-wise program over a convolution's output, run on each piece while that is near. Input
/// 0 is the output itself; `operands` speaks of the others.
struct ConvBody {
  Body body;
  ConvBodyOperand operands[kBodyMaxInputs];

  bool empty() const { return body.empty(); }
};

/// A piece of the output: some pixels of one block, or of up to 16 planes.
struct ConvPiece {
  float* out = nullptr;
  std::int64_t image = 0;
  std::int64_t channel = 0;  ///< number of the block, or of the first plane
  std::int64_t planes = 1;   ///< in planes: how many
  std::int64_t plane = 0;    ///< in planes: from one to the next
  std::int64_t first_pixel = 0;
  std::int64_t pixels = 0;
};

/// `extra[i]` is the address of operand i; `scratch` has body.scratch_bytes().
void run_conv_body(const ConvBody& body, RunBody run, const float* const* extra, Layout layout,
                   const ConvPiece& piece, float* scratch);

}  // namespace sluice::cpu
