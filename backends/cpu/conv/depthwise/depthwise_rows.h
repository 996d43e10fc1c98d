#pragma once

#include <algorithm>
#include <cstdint>

#include "conv/conv_shape.h"
#include "core/divide.h"
#include "core/worker.h"
#include "kernels/conv/depthwise_tile.h"

namespace sluice::cpu {

/// True if each channel has its own filter (depthwise) and both images are in c16.
inline bool is_depthwise(const ConvShape& s) {
  return s.groups == s.in_channels && s.groups == s.out_channels &&
         s.in_layout == Layout::kBlocked && s.out_layout == Layout::kBlocked;
}

/// One output row of one block of 16 channels, and the kernel rows that meet the image there.
struct DepthwiseRow {
  /// Row `row` of block `number` of image `of`.
  DepthwiseRow(const ConvShape& s, const Extent& output, std::int64_t of, std::int64_t number,
               std::int64_t row)
      : image(of), block(number), y(row), end_tap(s.kernel.h) {
    const std::int64_t image_block = image * blocks_of(s.in_channels) + block;
    const std::int64_t first_y = y * s.stride.h - s.pad_begin.h;
    if (first_y < 0) first_tap = std::min(divide_up(-first_y, s.dilation.h), s.kernel.h);
    if (first_y + (s.kernel.h - 1) * s.dilation.h >= s.input.h) {
      const std::int64_t inside =
          first_y < s.input.h ? divide_up(s.input.h - first_y, s.dilation.h) : 0;
      end_tap = std::clamp(inside, first_tap, s.kernel.h);
    }
    const std::int64_t input_y = first_y + first_tap * s.dilation.h;
    input_pixel = (image_block * s.input.h + input_y) * s.input.w;
    output_pixel = (image_block * output.h + y) * output.w;
  }

  std::int64_t image = 0;
  std::int64_t block = 0;
  std::int64_t y = 0;
  std::int64_t first_tap = 0;  ///< kernel rows [first_tap, end_tap)
  std::int64_t end_tap = 0;
  std::int64_t input_pixel = 0;   ///< of the whole tensor: where the first kernel row begins
  std::int64_t output_pixel = 0;  ///< of the whole tensor
};

/// Iterates over this worker's output rows, block by block. Rows are short, so the position is
/// advanced by steps instead of being computed by divisions from a row number.
///
/// In tall images each worker takes some rows of every block, as in the convolutions before and
/// after: its input and output then lie in its own cache, and a line from another core's cache
/// costs more than the sums of a row. Otherwise each worker takes
/// whole blocks of channels.
class DepthwiseRows {
 public:
  /// Requires: `s` and `output` outlive this.
  DepthwiseRows(const ConvShape& s, const Extent& output, const Worker& worker)
      : shape_(s),
        output_(output),
        blocks_(blocks_of(s.in_channels)),
        by_rows_(worker.count == 1 || s.batch * output.h >= kTall * worker.count) {
    const Share share = share_of(s.batch * output.h * (by_rows_ ? 1 : blocks_), 1, worker);
    left_ = share.end - share.begin;
    const std::int64_t plane = share.begin / output.h;
    image_ = by_rows_ ? plane : plane / blocks_;
    block_ = by_rows_ ? 0 : plane % blocks_;
    take_rows(share.begin % output.h);
  }

  bool done() const { return y_ == end_; }
  DepthwiseRow row() const { return {shape_, output_, image_, block_, y_}; }
  void advance() {
    if (++y_ == end_) next_block();
  }

 private:
  /// Rows of each worker in a tall image: with so many, few input rows are read by two workers.
  static constexpr std::int64_t kTall = 8;

  /// Takes rows of the block, or of all blocks of the image, from row `begin` on.
  void take_rows(std::int64_t begin) {
    begin_ = y_ = begin;
    end_ = std::min(begin + left_, output_.h);
    left_ -= end_ - begin;
  }

  void next_block() {
    const bool is_last = ++block_ == blocks_;
    if (is_last) {
      block_ = 0;
      ++image_;
    }
    if (by_rows_ && !is_last) {
      y_ = begin_;
    } else {
      take_rows(0);
    }
  }

  const ConvShape& shape_;
  const Extent& output_;
  std::int64_t blocks_;
  bool by_rows_;
  std::int64_t left_;  ///< rows of the share that follow this block or image
  std::int64_t image_;
  std::int64_t block_;
  std::int64_t begin_ = 0;  ///< rows [begin_, end_) of a block
  std::int64_t end_ = 0;
  std::int64_t y_ = 0;
};

/// Divides a row's output pixels into parts whose sizes differ by at most one.
struct RowParts {
  RowParts(std::int64_t width, std::int64_t max_cols)
      : count(divide_up(width, max_cols)), cols(width / count), wider(width % count) {}

  /// Calls `run(begin, cols)` for each part.
  template <typename Run>
  void for_each(const Run& run) const {
    std::int64_t begin = 0;
    for (std::int64_t part = 0; part < count; ++part) {
      const std::int64_t size = cols + (part < wider ? 1 : 0);
      run(begin, size);
      begin += size;
    }
  }

  std::int64_t count;
  std::int64_t cols;   ///< of each part
  std::int64_t wider;  ///< so many parts have one more
};

/// The windows of a row, without their columns (see set_columns).
inline DepthwiseWindows windows_of(const ConvShape& s, const DepthwiseRow& row) {
  DepthwiseWindows windows;
  windows.input_row = s.dilation.h * s.input.w * kBlock;
  windows.rows = static_cast<std::int32_t>(row.end_tap - row.first_tap);
  windows.kernel_cols = static_cast<std::int32_t>(s.kernel.w);
  windows.stride = static_cast<std::int32_t>(s.stride.w);
  windows.dilation = static_cast<std::int32_t>(s.dilation.w);
  return windows;
}

/// Sets the input columns that `cols` output pixels from `begin` on read. Returns the input column
/// of their first tap; it is negative in the left padding.
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
