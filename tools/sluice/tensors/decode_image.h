// Decoders of image files, over libpng and libjpeg.
#pragma once

#include "base/bytes.h"
#include "sluice/tensors/image.h"

namespace sluice::tool {

/// The decoders refuse a larger image before they allocate memory.
inline constexpr std::uint64_t kMaxPixels = std::uint64_t{64} << 20;

// `channels`: 1 (grey) or 3 (red, green, blue). Fails: kInvalidArgument with the library's text;
// over kMaxPixels.
Result<Image> decode_png(const Bytes& file, int channels);
Result<Image> decode_jpeg(const Bytes& file, int channels);

/// By the first bytes. Fails: also kInvalidArgument for other formats.
Result<Image> decode_image(const Bytes& file, int channels);

}  // namespace sluice::tool
