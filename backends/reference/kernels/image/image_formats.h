// Pixels of PNG and JPEG files, decoded by libpng and libjpeg.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

struct Image {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;  ///< [height, width, 3]
};

/// An image without pixels if the file is damaged, whether its header or what follows.
/// Fails: SLUICE_UNIMPLEMENTED for another format.
Status read_image(std::span<const std::uint8_t> file, Image* image);

}  // namespace sluice::reference
