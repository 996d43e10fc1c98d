// Operators without fast kernels, written with operators that have some: one function each.
//
// A function emits what takes the operation's place. kUnimplemented means that the operation stays
// as it is; any other failure ends the pass.
#pragma once

#include "ops/lowering/lowering.h"

namespace sluice::passes {

/// ONNX's Attention with a mask, causal or not, over past and new keys: as sluice::Attention.
Status rewrite_attention(ops::Lowering& op);

/// RotaryEmbedding as products of the halves with the rows of the caches.
Status rewrite_rotary_embedding(ops::Lowering& op);

/// Transposed convolution with constant weights: a convolution that computes the `stride` outputs
/// behind each input as so many channels, which then move to their places.
Status rewrite_conv_transpose(ops::Lowering& op);

/// Einsum of one or two operands: sums, transposes and a MatMul.
Status rewrite_einsum(ops::Lowering& op);

/// LpNormalization: divided by a norm, or by 1 where that is 0.
Status rewrite_lp_normalization(ops::Lowering& op);
/// MeanVarianceNormalization: less the mean, divided by the deviation.
Status rewrite_mean_variance_normalization(ops::Lowering& op);

/// DepthToSpace and SpaceToDepth: a transpose between views.
Status rewrite_depth_to_space(ops::Lowering& op);
Status rewrite_space_to_depth(ops::Lowering& op);

/// Tile by constants: an Expand between views.
Status rewrite_tile(ops::Lowering& op);

/// ReduceLogSum and ReduceLogSumExp: logarithms of sums, of which the second cannot overflow.
Status rewrite_reduce_log_sum(ops::Lowering& op);
Status rewrite_reduce_log_sum_exp(ops::Lowering& op);

}  // namespace sluice::passes
