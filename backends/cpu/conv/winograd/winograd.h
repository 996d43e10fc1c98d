#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "conv/direct/conv.h"
#include "conv/direct/conv_plan.h"
#include "kernels/conv/winograd_tile.h"

namespace sluice::cpu {

/// A 3x3 convolution by Winograd's F(4x4, 3x3) or F(2x2, 3x3), see kernels/conv/winograd_tile.h:
/// the products at each of the 36 or 16 positions are a pointwise convolution whose pixels are
/// tiles.
///
/// Accuracy: with the larger tiles the terms are up to a hundred times larger than direct ones, so
/// results differ by about 1e-5 of the largest output. An infinity turns its whole tile into NaN.

/// Null if the method fits (3x3, stride 1, one group, c16 on both sides), else the reason.
const char* winograd_refusal(const ConvShape& shape);

/// The tiles with which the method is expected to beat the direct one; nullopt if none, or if the
/// image's size is unknown. It saves 3/4 or 5/9 of the products; it pays with two transforms, tiles
/// that overlap the edge, and 36/9 or 16/9 of the weights.
std::optional<WinogradTile> winograd_pays(const ConvShape& shape);

/// The pointwise convolution of one position over `tiles` tiles.
ConvShape winograd_product(const ConvShape& shape, std::int64_t tiles);

/// How transformed weights are packed: a pointwise packing per position. With integers of 16 bits,
/// scales follow, f32[blocks of out][position][16]. A weight is its integer times the scale of its
/// position and output channel, off by at most 1/65534 of the largest of these weights.
struct WinogradWeights {
  WinogradTile tile;
  Storage storage = Storage::kF32;  ///< or kI16

  bool has_scales() const { return storage == Storage::kI16; }
};

std::int64_t winograd_weights_bytes(const ConvShape& shape, Isa isa, WinogradWeights form);

/// Transforms and packs ONNX weights [out][in][3][3]. An output channel with weights that are not
/// finite becomes NaN.
void pack_winograd(const ConvShape& shape, Isa isa, WinogradWeights form, const float* weights,
                   void* packed);

/// As ConvPlan: plain numbers, shared by all workers and contexts.
struct WinogradPlan {
  ConvShape shape;
  Extent output;
  ConvEpilogue epilogue;
  Isa isa;
  WinogradTile tile;
  bool has_scales;  ///< weights are integers
  Extent tiles;     ///< of an image
  Extent band;      ///< tiles that go through all positions together, at most
  Division division = Division::kByCost;
  ConvPlan product;  ///< one position of a band
  std::vector<float> no_bias;
  /// Floats from one position to the next, in the scratch of the input and of the sums.
  std::int64_t input_position = 0;
  std::int64_t sums_position = 0;

  std::int64_t scratch_bytes() const;
};

/// Requires: winograd_refusal(shape) == nullptr.
WinogradPlan plan_winograd(const ConvShape& shape, const ConvEpilogue& epilogue, Isa isa,
                           WinogradWeights weights, const WinogradBlocks& blocks = {});

/// True if workers divide rows of tiles of all images; else they divide panels of output channels.
bool shares_rows(const WinogradPlan& plan, int workers);

/// This worker's share. Requires: worker.scratch of plan.scratch_bytes(); args.weights, or
/// args.half_weights for integers, from pack_winograd in the same form.
void run_winograd(const WinogradPlan& plan, const ConvArgs& args, const Worker& worker);

}  // namespace sluice::cpu
