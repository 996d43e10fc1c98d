#pragma once

#include "kernels/bytes/byte_conv_tile.h"
#include "kernels/conv/depthwise_tile.h"

namespace sluice::cpu {

/// As DepthwiseTile, of bytes without sign. Sums are those of ByteConvTile; they stay below 2^24,
/// so that f32 holds them exactly.
struct ByteDepthwiseTile : DepthwiseWindows, ByteFinish {
  const std::uint8_t* input = nullptr;
  float input_zero = 0;
  const float* weights = nullptr;  ///< [kernel row][kernel column][16], whole numbers
  const float* scales = nullptr;   ///< [16]
  const float* biases = nullptr;   ///< [16]
};

using ByteDepthwiseTileKernel = void (*)(const ByteDepthwiseTile& tile);

/// The micro-kernels of one instruction set; members as of DepthwiseTileSet.
struct ByteDepthwiseTileSet {
  int max_cols = 0;
  ByteDepthwiseTileKernel (*find)(int kernel_cols, int stride, int cols) = nullptr;
  ByteDepthwiseTileKernel any = nullptr;
};

SLUICE_CPU_EACH_ISA(extern const ByteDepthwiseTileSet kByteDepthwiseTiles;)

}  // namespace sluice::cpu
