// Any bytes as an image file: an image of as many pixels as it says, none, or another format.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "reference/kernels/image/image_formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::reference::Image image;
  const auto status = sluice::reference::read_image(std::span(data, size), &image);
  const auto pixels = static_cast<std::size_t>(image.height * image.width);
  if (!status.is_ok() && pixels != 0) std::abort();
  if (image.rgb.size() != 3 * pixels) std::abort();
  return 0;
}
