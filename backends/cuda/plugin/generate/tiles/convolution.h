// Convolutions as products: the weights, a row per channel of the output, times the windows of the
// image, a column per pixel of the output. Windows are never stored; a tile's elements are read
// from the image.
#pragma once

#include <cstdint>
#include <span>

#include "plugin/generate/tiles/finish.h"
#include "plugin/generate/tiles/product.h"

namespace sluice::cuda {

/// One spatial axis of a window that moves over an image.
struct WindowAxis {
  std::int64_t input, output, kernel, stride, dilation, pad;
};

/// The product of a Conv. The pixels of all images are columns of one product; groups are a stack.
/// Requires: every dimension is known; the axes' numbers and what follows from them fit 32 bits.
/// False for those that a thread per element computes better: windows with more taps than
/// Gathering has, and groups of few channels, as in a depthwise convolution.
bool convolution_product(const sluice_op& op, std::span<const WindowAxis> axes, Product* product,
                         Finish* finish);

}  // namespace sluice::cuda
