// Resizing and cropping of images.
#pragma once

#include "sluice/tensors/image.h"

namespace sluice::tool {

/// Bilinear. Where the image shrinks, the filter is as wide as the pixels that it merges, so that
/// no pixel is skipped (as Pillow's BILINEAR and torchvision's antialias=True). Requires: width and
/// height > 0.
Image resize(const Image& image, int width, int height);

/// Resizes so that the shorter side has `side` pixels and the other keeps the proportion.
/// Fails: kInvalidArgument if the result has over 64 megapixels.
Result<Image> resize_shorter_side(const Image& image, int side);

/// The centre. Fails: kInvalidArgument if the image is smaller.
Result<Image> crop_centre(const Image& image, int width, int height);

}  // namespace sluice::tool
