// The passes. Each has a function and a file; marks on products share one. Values are written %x,
// constants %c.
//
// "Algebra" names the identity that a rewrite needs and does not hold for all constants, and what
// it therefore asks of them (docs/howto/add-a-pass.md). Other rewrites move, drop or compute whole
// operations and hold for every constant.
#pragma once

#include "passes/pass.h"

namespace sluice::passes {

/// Infers types again: rewrites can make more of them known.
Result<int> infer_types(ir::Graph& graph, const PassContext& context);

/// Replaces CastLike by Cast if the target type is known, so that a constant folds even if the
/// tensor that gives the type is not constant.
///     CastLike[%c, %x : f64[N]]   ->   Cast[%c] {to = 11}
Result<int> name_cast_types(ir::Graph& graph, const PassContext& context);

/// Quantized operators with constant weights become plain ones, for which there are fast kernels.
/// Dynamic quantization, which rounds all of a tensor alike, becomes a product that rounds row by
/// row; the convolution computes in f32.
///     Mul[Cast[MatMulInteger[Dynamic[%x], %w]], scales]
///                                       ->   sluice::NarrowMatMul[%x, %w, scales] {int8}
///     Mul[Cast[ConvInteger[Dynamic[%x], %w]], scales]     ->   Conv[%x, %w']
///     QLinearConv[%q, ..., %w, ..., %b]  ->  Quantize[Conv[Dequantize[%q], Dequantize[%w], %b']]
///     QLinearMatMul[%q, ..., %r, ...]    ->  Quantize[MatMul[Dequantize[%q], Dequantize[%r]]]
Result<int> expand_quantized(ir::Graph& graph, const PassContext& context);

/// Convolutions and maxima between DequantizeLinear and QuantizeLinear compute in 8 bits; products
/// with 8-bit weights become sluice::NarrowMatMul, or are marked as by `allow_byte_products`.
///     Quantize[Relu[Add[Conv[Dequantize[%q], Dequantize[%w]], Dequantize[%r]]]]
///                                       ->   sluice::QuantizedConv[%q, %w, %scale, %bias, %r]
/// Drops the rounding between a convolution and a sum that follows it, and that of a product's
/// factor; the clipping stays. Moves signed activations to unsigned ones. Weights of u8 too far
/// from their zero point for i8 are those of two convolutions, of which the second adds the result
/// of the first.
Result<int> fuse_quantized(ir::Graph& graph, const PassContext& context);

/// Drops operations, optional outputs, operands and subgraphs that nothing reads.
Result<int> remove_dead_code(ir::Graph& graph, const PassContext& context);

/// Drops operations that return input 0 unchanged: Identity, Dropout, a Cast to the same type, a
/// Reshape or a Resize to the same shape, a Transpose that moves nothing, a Pad by zeros of width
/// 0, %x + 0, %x * 1, ...
///     %a = Identity[%x]; %y = Relu[%a]   ->   %y = Relu[%x]
/// Keeps one that connects an input, a constant or an output to another output of a graph.
/// Algebra: x + -0 = x - 0 = x, but -0 + 0 is 0: the sign of a zero constant counts.
Result<int> remove_identities(ir::Graph& graph, const PassContext& context);

/// Computes operations on constants with `context.evaluate`.
///     %y = Add[%c1, %c2]   ->   const %y
/// Skips random operations, control flow, and operations whose results would make the model much
/// larger, alone or together.
Result<int> fold_constants(ir::Graph& graph, const PassContext& context);

/// Replaces integers that follow from shapes by constants, even if the shapes are partly symbolic.
/// Algebra: that of whole numbers; values that the element type would wrap are not followed.
///     %s = Shape[%x : f32[N,128]]; %d = Gather[%s, 1]   ->   const %d = 128
Result<int> fold_shapes(ir::Graph& graph, const PassContext& context);

/// Turns captured constants into constants of the capturing subgraphs, and drops captures that no
/// body reads.
///     If[%c, %k : const] then @1(%k)   ->   If[%c] then @1() {const %k}
Result<int> simplify_captures(ir::Graph& graph, const PassContext& context);

/// An If whose condition is constant becomes its branch.
///     %y = If[const true] then @1 {%y = Relu[%x]}   ->   %y = Relu[%x]
Result<int> fold_conditions(ir::Graph& graph, const PassContext& context);

/// Batch normalization with constant statistics becomes part of the convolution before it, or a
/// product and a sum. So do products and sums with constants, one number or one per channel.
///     BatchNormalization[Conv[%x, %w, %b], ...]   ->   Conv[%x, %w', %b']
///     BatchNormalization[%x, ...]                 ->   Add[Mul[%x, %scale], %shift]
///     Add[Conv[%x, %w, %b], %c : f32[C,1,1]]      ->   Conv[%x, %w, %b']
/// Weights that the model has in 16 bits are rounded to 16 bits after they are scaled.
/// Algebra: s (w x + b) + t = (s w) x + (s b + t), if no product overflows or loses digits and s b
/// and t do not cancel.
Result<int> fuse_batch_norm(ir::Graph& graph, const PassContext& context);

/// The same for batch normalization behind convolutions that a backend computes in 16 bits
/// (native_halves), before `widen_halves` puts the normalization between casts. Scaled weights and
/// shifts are rounded once; numbers that 16 bits do not hold stay as they are.
///     BatchNormalization[Conv[%x : f16, %w, %b], ...]   ->   Conv[%x, %w', %b']
Result<int> fuse_half_norms(ir::Graph& graph, const PassContext& context);

/// Convolutions lose the taps that lie in padding for every output: those of a dilation as large as
/// the image. Algebra: 0 w = 0, for finite weights.
///     Conv[%x : f32[1,8,6,6], %w : f32[4,8,3,3]] {dilations = [6, 6], pads = [6, 6, 6, 6]}
///                                       ->   Conv[%x, %w' : f32[4,8,1,1]] {pads = [0, 0, 0, 0]}
Result<int> trim_kernels(ir::Graph& graph, const PassContext& context);

/// A Gemm of constant weights between Reshapes that only fold and unfold rows becomes a MatMul on
/// all dimensions, so that following operations can be fused into its body.
///     Reshape[Gemm[Reshape[%x], %w, %b]]   ->   Add[MatMul[%x, %w], %b]
Result<int> unflatten_products(ir::Graph& graph, const PassContext& context);

/// Finds Gelu, exact or by tanh, in its elementary operators. Algebra: the constants are Gelu's own
/// numbers, up to the digits that exporters write (`is_near`), and do not make the result larger.
///     x * 0.5 * (1 + Erf[x / sqrt 2])   ->   Gelu[%x]
Result<int> fuse_gelu(ir::Graph& graph, const PassContext& context);

/// Finds layer normalization over the last axes in its elementary operators. The root without
/// "+ eps" counts as eps = 0. Algebra: the exponent of a power is exactly 2, and the attribute
/// holds eps.
///     d = x - ReduceMean[x]; d / Sqrt[ReduceMean[d * d] + eps] * scale + bias
///                                       ->   LayerNormalization[%x, %scale, %bias]
Result<int> fuse_layer_norm(ir::Graph& graph, const PassContext& context);

/// Finds the normalization by the root of the mean square over the last axes, with or without eps.
/// Algebra: as of layer normalization.
///     x * Reciprocal[Sqrt[ReduceMean[x * x] + eps]] * scale   ->   RMSNormalization[%x, %scale]
Result<int> fuse_rms_norm(ir::Graph& graph, const PassContext& context);

/// Finds the softmax over one axis in its elementary operators.
///     e = Exp[x - ReduceMax[x]]; e / ReduceSum[e]   ->   Softmax[%x]
Result<int> fuse_softmax(ir::Graph& graph, const PassContext& context);

/// Finds attention over heads.
///     MatMul[Softmax[MatMul[q, Transpose[k]] * scale + mask], v]   ->   sluice::Attention
/// Includes the concatenation of past and new keys and values, torch's guard of the softmax
/// (Where[IsNaN[s], 0, s]), several masks, and heads of keys that Expand repeats. Scores that a
/// Where replaces by a number are that number. Operands of rank 3 are those of one head.
/// Algebra: attention_match.h.
Result<int> fuse_attention(ir::Graph& graph, const PassContext& context);

/// Attention takes heads as products write them, [B, L, H * D], where the backend that takes it has
/// a kernel for that.
///     sluice::Attention[Transpose[Reshape[%q]], ...]   ->   sluice::Attention[%q, ...]
/// Each of q, k, v for itself, and the result that a Transpose turns back.
Result<int> pack_heads(ir::Graph& graph, const PassContext& context);

/// Operations that draw random numbers read the state of the run and get a number of their own, so
/// that no two draw the same (docs/decisions/0073-random-numbers-are-counted.md). No option omits
/// it.
///     RandomNormal[] {shape = [3]}
///                                       ->   %s = sluice::RandomState[]
///                                            RandomNormal[%s] {shape = [3], sluice_stream = 0}
Result<int> give_random_state(ir::Graph& graph, const PassContext& context);

/// Operators that have no fast kernels become such as have (passes/lower/operator_rewrites.h).
///     Einsum[%a, %b] {equation = "bhid,bhjd->bhij"}   ->   MatMul[%a, Transpose[%b]]
Result<int> rewrite_operators(ir::Graph& graph, const PassContext& context);

/// The nodes of a tree ensemble become a constant, which backends pack: a load of the package then
/// reads no lists (docs/decisions/0062-trees-are-a-table.md). Irregular ensembles keep their lists.
///     TreeEnsembleRegressor[%x] {nodes_modes = [...], ...}
///                                       ->   sluice::TreeRegressor[%x, %c : f64[R,5]]
Result<int> tabulate_trees(ir::Graph& graph, const PassContext& context);

/// Two transposes in a row become one; one that moves only dimensions of 1 becomes a view.
///     Transpose[%x : f32[1,1,12,64]] {perm = [0, 2, 1, 3]}   ->   Reshape[%x, [1, 12, 1, 64]]
Result<int> simplify_transposes(ir::Graph& graph, const PassContext& context);

/// Computes operations on f16 and bf16 in f32, and rounds only what leaves them. A Cast to 16 bits
/// in the model still rounds. Values between operations keep the digits and the range of f32: what
/// would overflow 16 bits there does not.
///     Relu[MatMul[%x : f16[2,3], %w : f16[3,4]]]
///                   ->   Cast[Relu[MatMul[Cast[%x] : f32[2,3], %w' : f32[3,4]]]] {to = f16}
Result<int> widen_halves(ir::Graph& graph, const PassContext& context);

/// Products keep weights that the model has in 16 bits in 16 bits: half the memory, the same
/// results. A convolution names the type, and backends pack its weights in it. Weights that a
/// fusion changed to numbers of more bits stay in f32.
///     MatMul[%x, %c : f32[K,N]] {from f16}   ->   sluice::NarrowMatMul[%x, %c' : f16[K,N]]
///     Conv[%x, %c : f32[...]] {from f16}     ->   Conv[%x, %c] {sluice_weights = "f16"}
Result<int> narrow_weights(ir::Graph& graph, const PassContext& context);

/// Products keep weights of 4 and 8 bits with a scale per block along K in 4 and 8 bits. Algebra:
/// sum(x (s q)) = s sum(x q), for scales that are 0 or moderate.
///     MatMul[%x, Dequantize[%c : u4[K,N], scales, zeros]]
///                                       ->   sluice::NarrowMatMul[%x, %c' : u4[N,K], scales,
///                                       zeros]
Result<int> narrow_blocks(ir::Graph& graph, const PassContext& context);

/// Rows of quantized constants are looked up before they are dequantized, so that a table of 4 or 8
/// bits is never there as floats.
///     Gather[Dequantize[%c : u4[V,K], scales], %i]
///                                       ->   Dequantize[Gather[%c, %i], Gather[scales, %i]]
Result<int> dequantize_rows(ir::Graph& graph, const PassContext& context);

/// Lets backends round the constant matrices of products to bf16: half the bytes to read, and three
/// significant digits. Not in the default pipeline, for it changes results; a backend may ignore
/// it.
///     MatMul[%x, %c : f32[K,N]]   ->   MatMul[%x, %c] {sluice_weights = "bf16"}
Result<int> allow_rounded_weights(ir::Graph& graph, const PassContext& context);

/// Lets backends multiply constant matrices in 8 bits: each column is rounded to 127 steps in
/// either direction, scaled by its largest magnitude, and so is each row of the other factor at run
/// time.
///     MatMul[%x, %c : f32[K,N]]   ->   MatMul[%x, %c] {sluice_weights = "int8"}
/// and NarrowMatMul alike.
Result<int> allow_byte_products(ir::Graph& graph, const PassContext& context);

/// Lets backends compute products with constant matrices by Strassen's method: an eighth of the
/// multiplications less for each level, more memory, and results that move by about 1e-6 of the
/// largest. Not in the default pipeline.
///     MatMul[%x, %c : f32[K,N]]   ->   MatMul[%x, %c] {sluice_strassen = 1}
Result<int> allow_one_strassen_level(ir::Graph& graph, const PassContext& context);

/// The same with two levels.
///     MatMul[%x, %c : f32[K,N]]   ->   MatMul[%x, %c] {sluice_strassen = 2}
Result<int> allow_two_strassen_levels(ir::Graph& graph, const PassContext& context);

/// Makes backends compute convolutions as direct sums of products. Not in the default pipeline:
/// transforms are faster and move results by about 1e-5 of the largest.
///     Conv[%x, %w]   ->   Conv[%x, %w] {sluice_convolution = "direct"}
Result<int> direct_convolutions(ir::Graph& graph, const PassContext& context);

/// Fuses element-wise operations of one shape into the body of the operation that produces their
/// input, or into one sluice::Elementwise.
///     Relu[Add[Conv[%x, %w], %r]]   ->   Conv[%x, %w] body{Relu[Add[result, %r]]}
Result<int> fuse_elementwise(ir::Graph& graph, const PassContext& context);

}  // namespace sluice::passes
