#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "conv/conv_blocks.h"
#include "conv/conv_shape.h"
#include "core/worker.h"
#include "kernels/bytes/byte_conv_tile.h"

namespace sluice::cpu {

/// A convolution in 8 bits: bytes without sign by weights with sign, see
/// kernels/bytes/byte_conv_tile.h. Images are c16, and so are results; an image of at most four
/// channels may lie in planes, which are then joined to pixels, a band of rows at a time.

/// Null when the convolution can be planned, else what is wrong with it.
const char* byte_conv_refusal(const ConvShape& shape);

/// The fastest set that this processor supports among those with panels as wide as `isa`'s.
const ByteConvTileSet& byte_conv_tiles(Isa isa);

/// How weights lie: panels of [runs][blocks][groups][width][4] bytes, then [width] sums of them.
/// Weights of padded channels are zero.
struct ByteConvPacking {
  ByteConvPacking(const ConvShape& shape, Isa isa);

  ConvShape shape;
  std::int64_t width = 0;   ///< output channels of a panel
  std::int64_t runs = 0;    ///< taps; of planes rows of taps
  std::int64_t blocks = 0;  ///< pieces of a run, `groups` groups of four bytes each
  std::int64_t groups = 0;

  std::int64_t run_bytes() const { return blocks * groups * kByteGroup; }
  std::int64_t matrix_bytes() const { return runs * run_bytes() * width; }
  std::int64_t panel_bytes() const { return matrix_bytes() + width * 4; }
  std::int64_t panels() const { return (shape.out_channels + width - 1) / width; }
  std::int64_t bytes() const { return panels() * panel_bytes(); }

  /// From [out_channels][in_channels][kernel.h][kernel.w].
  void pack(const std::int8_t* weights, void* packed) const;
};

/// What is done to sums; vectors have an entry per output channel, zeros up to the end of a panel.
struct ByteConvEpilogue {
  std::vector<float> scales;
  std::vector<float> biases;
  float low = 0;
  float high = 0;
  float own_low = -std::numeric_limits<float>::infinity();  ///< of what a residual is added to
  float own_high = std::numeric_limits<float>::infinity();
  float residual_scale = 1;
  std::int32_t output_zero = 0;
};

/// All data that stays constant between runs; no pointers into tensors.
struct ByteConvPlan {
  ConvShape shape;
  Extent output;
  Isa isa;
  ByteConvPacking packing;
  ByteConvEpilogue epilogue;
  std::uint8_t input_zero = 0;
  std::int64_t input_image = 0;   ///< bytes from an image to the next
  std::int64_t strip_row = 0;     ///< bytes of a joined row; 0: the kernels read the image in place
  std::int64_t block_pixels = 0;  ///< output pixels that meet all panels before the next come
  std::int64_t grain = 1;         ///< output pixels that stay together: a row, of planes
  Division division = Division::kByCost;
  /// -input_zero times the sums of the weights, per channel.
  std::vector<std::int32_t> starts = {};
  std::vector<std::uint8_t> padding = {};        ///< a block of zero points
  std::vector<std::uint16_t> wide_padding = {};  ///< as many in 16 bits
  /// By panel: whether it is narrow; false where that makes no difference.
  std::vector<bool> narrow = {};
  /// Whether a panel needs input and weights in 16 bits (kernels/bytes/wide_bytes.h). A worker
  /// widens the rows under a block of pixels once, and a panel once per block.
  bool is_wide = false;

  std::int64_t scratch_bytes() const;
  std::int64_t table_bytes() const;
  std::int64_t strip_bytes() const;
  std::int64_t wide_input_bytes() const;
  std::int64_t wide_panel_bytes() const;
};

/// The part of a plan that divides the work. Requires: the conditions below for the shape.
ByteConvPlan divide_byte_conv(const ConvShape& shape, Isa isa, const ByteConvBlocks& blocks);

/// Requires: byte_conv_refusal(shape) == nullptr; `packed` by ByteConvPacking::pack, only read
/// here.
ByteConvPlan plan_byte_conv(const ConvShape& shape, ByteConvEpilogue epilogue,
                            std::uint8_t input_zero, Isa isa, const void* packed,
                            const ByteConvBlocks& blocks = {});

/// Whether workers divide panels of output channels, or else pixels.
bool shares_panels(const ByteConvPlan& plan, int workers);

/// The tensors of one run. At most one of each pair is set. The output may be the residual.
struct ByteConvArgs {
  const std::uint8_t* input = nullptr;
  const void* weights = nullptr;  ///< from ByteConvPacking::pack
  const std::uint8_t* residual_bytes = nullptr;
  const float* residual_floats = nullptr;
  std::uint8_t* output_bytes = nullptr;
  float* output_floats = nullptr;
};

/// This worker's share. Requires: worker.scratch of plan.scratch_bytes().
void run_byte_conv(const ByteConvPlan& plan, const ByteConvArgs& args, const Worker& worker);

}  // namespace sluice::cpu
