#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Channels of a block of the layout c16: [N][ceil(C/16)][H][W][16]. The channels behind C in the
/// last block hold whatever their producer left there; no kernel lets them reach a real channel.
inline constexpr int kBlock = 16;

/// The clamp on a convolution's result before the store: ReLU is a bound at 0. NaN stays NaN.
struct Bounds {
  float low = -__builtin_inff();
  float high = __builtin_inff();
};

inline constexpr Bounds kReluBounds = {0, __builtin_inff()};

/// One call of a convolution micro-kernel: `rows` x `cols` output pixels by one panel of output
/// channels, summed over `blocks` input blocks and all taps while the sums stay in registers.
///
/// Distances are in floats. `input` is the pixel that tap offset 0 of the tile's first pixel reads.
struct ConvTile {
  const float* input = nullptr;
  const float* weights = nullptr;       ///< [block][tap][channel][panel]
  const float* bias = nullptr;          ///< [panel]; null: the sums start from what `output` holds
  const float* residual = nullptr;      ///< addressed as `output` is; null: none
  float* output = nullptr;              ///< c16
  const float* next_weights = nullptr;  ///< fetched meanwhile, `next_weights_step` floats per step
  const float* next_input = nullptr;    ///< `input` of the next tile, fetched during the last block
  const float* next_output = nullptr;   ///< what the next tile touches first: residual or output
  const std::int64_t* taps = nullptr;
  std::int64_t block_stride = 0;  ///< from one input block to the next
  std::int64_t input_row = 0;     ///< from the input of one output row to the input of the next
  std::int64_t output_row = 0;    ///< from one output row to the next
  std::int64_t output_block = 0;  ///< from one output block of 16 channels to the next
  std::int64_t next_weights_step = 0;
  std::int64_t weights_skip = 0;  ///< weights of a block's other taps; 0 if `taps` are all
  std::int32_t tap_count = 0;
  std::int32_t blocks = 0;
  std::int32_t last_channels = 0;  ///< channels of the last block; the others have all of theirs
  Bounds bounds;                   ///< of what is stored; none while the sums are not complete
};

using ConvTileKernel = void (*)(const ConvTile& tile);

/// How the input of a tile is laid out: blocks of 16 channels, or one channel plane after another
/// (then a "block" is one channel).
enum class ConvInput : std::int32_t { kBlocked, kPlanes };

/// The micro-kernels of one instruction set.
struct ConvTileSet {
  int panel = 0;         ///< channels of a wide panel: 16 or 32
  int wide_pixels = 0;   ///< most pixels of a tile with a wide panel
  int block_pixels = 0;  ///< most pixels of a tile with a panel of 16
  /// Requires: rows is 1 or 2; cols >= 1; rows * cols within the limit above; panel 16 or `panel`.
  ConvTileKernel (*find)(ConvInput input, int rows, int cols, int panel) = nullptr;
  /// A faster kernel for blocked input and one row of pixels, if the last 8 channels of the panel
  /// do not exist. It leaves arbitrary values for these channels.
  ConvTileKernel (*find_half)(int cols, int panel) = nullptr;
};

SLUICE_CPU_EACH_ISA(ConvTileKernel find_blocked_tile(int rows, int cols, int panel);
                    ConvTileKernel find_plane_tile(int rows, int cols, int panel);
                    ConvTileKernel find_half_tile(int cols, int panel);
                    extern const ConvTileSet kConvTiles;)

}  // namespace sluice::cpu
