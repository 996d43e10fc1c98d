#pragma once

#include "kernels/byte_conv_tile.h"

namespace sluice::cpu {

/// As DepthwiseTile, of bytes without sign: `cols` neighbouring output pixels of one row and one
/// block of 16 channels, in c16. Distances in bytes. Sums are those of ByteConvTile; they stay
/// below 2^24, so that f32 holds them exactly.
struct ByteDepthwiseTile : ByteFinish {
  const std::uint8_t* input = nullptr;
  float input_zero = 0;
  const float* weights = nullptr;  ///< [kernel row][kernel column][16], whole numbers
  const float* scales = nullptr;   ///< [16]
  const float* biases = nullptr;   ///< [16]
  std::int64_t input_row = 0;      ///< from the input of one kernel row to that of the next
  std::int32_t rows = 0;           ///< kernel rows
  std::int32_t cols = 0;           ///< output pixels
  std::int32_t first_column = 0;
  std::int32_t end_column = 0;
  std::int32_t kernel_cols = 0;
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
};

using ByteDepthwiseTileKernel = void (*)(const ByteDepthwiseTile& tile);

/// The micro-kernels of one instruction set; members as of DepthwiseTileSet.
struct ByteDepthwiseTileSet {
  int most_cols = 0;
  ByteDepthwiseTileKernel (*find)(int kernel_cols, int stride, int cols) = nullptr;
  ByteDepthwiseTileKernel any = nullptr;
};

SLUICE_CPU_EACH_ISA(extern const ByteDepthwiseTileSet kByteDepthwiseTiles;)

}  // namespace sluice::cpu
