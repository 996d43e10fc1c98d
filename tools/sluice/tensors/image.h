// Image files as tensors, and drawn in a terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
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

/// How an image becomes an input. A float is (sample / 255 - mean) / deviation.
struct Preprocessing {
  std::vector<float> means;       ///< one for all channels, or one per channel; empty: 0
  std::vector<float> deviations;  ///< the same; empty: 1
  /// The shorter side after resizing, in pixels; the centre is then cropped to the input's size. 0:
  /// the image must have the input's size.
  int resize = 0;
};

/// Whether the name ends in .png, .jpg or .jpeg.
bool is_image_file(std::string_view path);

/// Reads a PNG or JPEG file, by its first bytes. `channels`: 1 or 3; the decoder converts.
/// Fails: kInvalidArgument with the decoder's text, and over 64 megapixels; kNotFound.
Result<Image> read_image(const std::filesystem::path& path, int channels);

/// Reads an image as the tensor that an input of type `type` takes: u8 or f32, [N,C,H,W] or
/// [N,H,W,C] with N 1 or symbolic, C 1 or 3. A symbolic H or W is `resize`, or else the image's.
/// Fails: as read_image; kInvalidArgument for other types, means for u8, and another size than the
///        input's without `resize`.
Result<ir::Constant> image_tensor(const std::filesystem::path& path, const ir::Type& type,
                                  const Preprocessing& preprocessing);

/// Two characters a pixel, a line a row, brighter pixels denser.
std::string draw(const Image& image);

}  // namespace sluice::tool
