// Sliding windows: which elements of an image each tap of each window meets.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/kernels/support.h"

namespace sluice::reference {

/// Window `p` along an axis has tap `t` at p * stride + t * dilation - pad of the image.
struct Window {
  std::vector<std::int64_t> windows;  ///< number of windows per axis
  std::vector<std::int64_t> image;    ///< size per axis
  std::vector<std::int64_t> kernel, strides, dilations, pads_before, pads_after;

  std::int64_t num_windows() const { return size_of(windows); }
  std::int64_t num_taps() const { return size_of(kernel); }
  std::int64_t image_size() const { return size_of(image); }
};

/// Values of `window_offsets` for positions without an element.
inline constexpr std::int64_t kPadding = -1;
inline constexpr std::int64_t kBeyondPadding = -2;

/// Reads strides, dilations, pads and auto_pad. `windows` and `image` are spatial dimensions.
/// Fails: SLUICE_FAILED_PRECONDITION for wrong counts and for attributes that are negative or past
///        2^30; SLUICE_INVALID_ARGUMENT for an image that the window does not fit.
Status make_window(const Call& call, Dims kernel, Dims windows, Dims image, Window* window);

/// For windows [first, first + count), in row-major order: the image element under each tap, or a
/// constant above. `offsets[tap * count + i]`.
void window_offsets(const Window& window, std::int64_t first, std::int64_t count,
                    std::vector<std::int64_t>* offsets);

/// How many windows to treat at a time.
inline constexpr std::int64_t kWindowsAtOnce = 256;

}  // namespace sluice::reference
