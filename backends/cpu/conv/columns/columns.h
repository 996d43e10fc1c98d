#pragma once

#include <cstdint>
#include <span>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// A window over an image of one to three dimensions. Leading axes that an image lacks have
/// extent 1. Window `p` has tap `t` at p * stride + t * dilation - pad of the image.
struct ColumnWindow {
  static constexpr int kAxes = 3;
  std::int64_t image[kAxes] = {1, 1, 1};
  std::int64_t windows[kAxes] = {1, 1, 1};
  std::int64_t kernel[kAxes] = {1, 1, 1};
  std::int64_t stride[kAxes] = {1, 1, 1};
  std::int64_t dilation[kAxes] = {1, 1, 1};
  std::int64_t pad[kAxes] = {};
  std::int64_t pad_end[kAxes] = {};

  std::int64_t pixels() const { return image[0] * image[1] * image[2]; }
  std::int64_t places() const { return windows[0] * windows[1] * windows[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Whether each window is the pixel of its own place.
  bool is_identity() const;
  /// Whether each pixel meets one tap of one window, and a row of the image several taps of each.
  bool is_tiling() const;
};

/// Reads strides, dilations, pads and auto_pad. Sizes are of the spatial axes.
/// Fails: kUnimplemented  more than three axes; numbers out of range
Status read_column_window(const sluice_op& op, std::span<const std::int64_t> kernel,
                          std::span<const std::int64_t> windows,
                          std::span<const std::int64_t> image, ColumnWindow* window);

/// Channels and the columns that they fill: row c * taps + t, `row` elements apart, is tap t of
/// channel c.
template <typename T>
struct FilledColumns {
  const T* plane = nullptr;
  std::int64_t plane_size = 0;  ///< elements from a channel to the next
  std::int64_t channels = 1;
  T* columns = nullptr;
  std::int64_t row = 0;
  T padding = {};  ///< around the image
};

/// What the taps of windows [first, first + count) meet, for floats and for bytes.
template <typename T>
void fill_columns(const ColumnWindow& window, std::int64_t first, std::int64_t count,
                  const FilledColumns<T>& filled);

/// The other way: adds each element to the pixel that its tap meets; those in the padding are lost.
void add_columns(const ColumnWindow& window, const float* columns, std::int64_t row,
                 std::int64_t first, std::int64_t count, float* plane, Isa isa);

/// The same where `window` is tiling: each pixel becomes its element plus `bias`.
void place_columns(const ColumnWindow& window, const float* columns, std::int64_t row,
                   std::int64_t first, std::int64_t count, float bias, float* plane, Isa isa);

}  // namespace sluice::cpu
