#pragma once

#include <algorithm>
#include <cstdint>

#include "conv/conv_shape.h"
#include "divide.h"
#include "kernels/depthwise_tile.h"

namespace sluice::cpu {

/// True when a convolution is one of every channel by a filter of its own, c16 to c16.
inline bool is_depthwise(const ConvShape& s) {
  return s.groups == s.in_channels && s.groups == s.out_channels &&
         s.in_layout == Layout::kBlocked && s.out_layout == Layout::kBlocked;
}

/// One output row of one block of 16 channels, and the kernel rows that meet the image there.
struct DepthwiseRow {
  /// `row` counts the rows of all blocks of all images.
  DepthwiseRow(const ConvShape& s, const Extent& output, std::int64_t row) {
    const std::int64_t image_block = row / output.h;
    block = image_block % blocks_of(s.in_channels);
    const std::int64_t first_y = row % output.h * s.stride.h - s.pad_begin.h;
    const std::int64_t outside = first_y < 0 ? divide_up(-first_y, s.dilation.h) : 0;
    const std::int64_t inside =
        first_y < s.input.h ? divide_up(s.input.h - first_y, s.dilation.h) : 0;
    first_tap = std::min(outside, s.kernel.h);
    end_tap = std::clamp(inside, first_tap, s.kernel.h);
    const std::int64_t input_y = first_y + first_tap * s.dilation.h;
    input_pixel = (image_block * s.input.h + input_y) * s.input.w;
    output_pixel = row * output.w;
  }

  std::int64_t block = 0;
  std::int64_t first_tap = 0;  ///< kernel rows [first_tap, end_tap)
  std::int64_t end_tap = 0;
  std::int64_t input_pixel = 0;   ///< of the whole tensor: where the first kernel row begins
  std::int64_t output_pixel = 0;  ///< of the whole tensor
};

/// Calls `run(begin, cols)` for a row's output pixels, in parts of nearly equal size, at most
/// `most_cols` long.
template <typename Run>
void for_each_part(std::int64_t width, std::int64_t most_cols, const Run& run) {
  const std::int64_t parts = divide_up(width, most_cols);
  const std::int64_t wider = width % parts;
  std::int64_t begin = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t cols = width / parts + (part < wider ? 1 : 0);
    run(begin, cols);
    begin += cols;
  }
}

/// All of a row's windows but which columns they are.
inline DepthwiseWindows windows_of(const ConvShape& s, const DepthwiseRow& row) {
  DepthwiseWindows windows;
  windows.input_row = s.dilation.h * s.input.w * kBlock;
  windows.rows = static_cast<std::int32_t>(row.end_tap - row.first_tap);
  windows.kernel_cols = static_cast<std::int32_t>(s.kernel.w);
  windows.stride = static_cast<std::int32_t>(s.stride.w);
  windows.dilation = static_cast<std::int32_t>(s.dilation.w);
  return windows;
}

/// What `cols` output pixels from `begin` on read of an input row. Gives the input column under
/// their first tap, which may lie before the image.
inline std::int64_t set_columns(const ConvShape& s, std::int64_t begin, std::int64_t cols,
                                DepthwiseWindows& windows) {
  const std::int64_t first_x = begin * s.stride.w - s.pad_begin.w;
  const std::int64_t columns = (cols - 1) * s.stride.w + (s.kernel.w - 1) * s.dilation.w + 1;
  windows.first_column = static_cast<std::int32_t>(std::max<std::int64_t>(0, -first_x));
  windows.end_column = static_cast<std::int32_t>(std::min(columns, s.input.w - first_x));
  windows.cols = static_cast<std::int32_t>(cols);
  return first_x;
}

/// Whether a shape has a kernel that loads each input pixel once per kernel row.
template <typename TileSet>
bool reuses_input(const ConvShape& s, const TileSet& tiles) {
  return s.kernel.w <= 7 && s.stride.w <= 2 && s.dilation.w == 1 &&
         tiles.find(static_cast<int>(s.kernel.w), static_cast<int>(s.stride.w), 1) != nullptr &&
         s.pad_begin.w < s.kernel.w && s.pad_end.w < s.kernel.w;
}

}  // namespace sluice::cpu
