#pragma once

#include "conv/direct/conv_plan.h"
#include "ops/elementwise/chain.h"

namespace sluice::cpu {

/// A Conv operation as its kernels see it.
struct ConvOp {
  ConvShape shape;
  ConvEpilogue epilogue;
  int residual_input = -1;                ///< run input that the epilogue adds
  std::vector<ChainSource> body_sources;  ///< of the epilogue's body
  Chain chain;                            ///< a body that the epilogue cannot run; empty for none
};

/// Ok if `op` is a convolution of f32 images with constant weights and bias that can be read with
/// its fused body; dimensions of the images may be unknown (-1).
Status check_conv(const sluice_op& op);

/// The part of the shape that is known at compile time. An unknown batch is 1. If the image's
/// extents are unknown, extents, strides and pads keep their defaults. Requires: check_conv(op) is
/// ok.
ConvShape conv_weights_shape(const sluice_op& op);

/// Requires: check_conv(op) is ok and all dimensions are known.
/// Fails: kUnimplemented    the shape is out of range
Status read_conv(const sluice_op& op, ConvOp* conv);

/// The image that a convolution of this shape reads, input 0, and output 0 that it writes.
void tell_extents(const ConvShape& shape, std::int64_t input_bytes, std::int64_t output_bytes,
                  Extents& extents);

}  // namespace sluice::cpu
