// PNG images as tensors, and drawn in a terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/attribute.h"

namespace sluice::tool {

/// 8-bit samples, rows from the top, channels interleaved.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;  ///< 1 (grey) or 3 (red, green, blue)
  std::vector<std::uint8_t> samples;
};

/// Fails: kInvalidArgument with libpng's text; images over 64 megapixels are refused.
Result<Image> read_png(const std::filesystem::path& path, int channels);

/// Reads a PNG as the tensor that an input of type `type` takes: [N,C,H,W] or [N,H,W,C] with N 1 or
/// symbolic, C 1 or 3. Floats are scaled to 0..1. The size must be the input's: nothing is resized.
Result<ir::Constant> png_tensor(const std::filesystem::path& path, const ir::Type& type);

/// Two characters a pixel, a line a row, brighter pixels denser.
std::string draw(const Image& image);

}  // namespace sluice::tool
