#pragma once

#include "kernels/conv/conv_tile.h"

namespace sluice::cpu {

/// The input of a depthwise micro-kernel, for every pixel type: the windows of `cols` neighbouring
/// output pixels of one row and one block of 16 channels, in c16.
///
/// A tile's `input` is the pixel under the first tap of the first output pixel, ignoring bounds;
/// only the input columns [first_column, end_column) from there exist. The caller leaves out
/// missing rows through `input`, `weights` and `rows`.
struct DepthwiseWindows {
  std::int64_t input_row = 0;  ///< elements from the input of one kernel row to that of the next
  std::int32_t rows = 0;       ///< kernel rows
  std::int32_t cols = 0;       ///< output pixels
  std::int32_t first_column = 0;
  std::int32_t end_column = 0;
  std::int32_t kernel_cols = 0;
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
};

/// One call of a depthwise micro-kernel.
struct DepthwiseTile : DepthwiseWindows {
  const float* input = nullptr;
  const float* weights = nullptr;   ///< [kernel row][kernel column][16]
  const float* bias = nullptr;      ///< [16]
  const float* residual = nullptr;  ///< addressed as `output` is; null: none
  float* output = nullptr;
  /// From `input` to the first row that is not read yet, to be fetched meanwhile where the stride
  /// is 2; 0: not.
  std::int64_t ahead = 0;
  bool fetches_output = false;  ///< brings near what the tile to the right will write
  Bounds bounds;
};

using DepthwiseTileKernel = void (*)(const DepthwiseTile& tile);

/// The micro-kernels of one instruction set.
struct DepthwiseTileSet {
  int max_cols = 0;  ///< most pixels of a tile of the kernels that `find` knows
  /// Kernels that load an input pixel once for all kernel columns: 3, 5 or 7 of them, stride 1 or
  /// 2, dilation 1. Null for other shapes. Requires: first_column < kernel_cols; end_column > the
  /// first column under the last output pixel.
  DepthwiseTileKernel (*find)(int kernel_cols, int stride, int cols) = nullptr;
  /// Takes any shape, pixel by pixel.
  DepthwiseTileKernel any = nullptr;
};

SLUICE_CPU_EACH_ISA(extern const DepthwiseTileSet kDepthwiseTiles;)

}  // namespace sluice::cpu
