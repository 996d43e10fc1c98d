// Decodes any bytes as the image file of a command's input, grey and coloured: an image has as many
// samples as its size says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sluice/tensors/decode_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sluice::Bytes file(nullptr, {reinterpret_cast<const std::byte*>(data), size});
  for (const int channels : {1, 3}) {
    const auto image = sluice::tool::decode_image(file, channels);
    if (!image.is_ok()) continue;
    const auto pixels =
        static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height);
    if (image->samples.size() != pixels * static_cast<std::size_t>(channels)) std::abort();
  }
  return 0;
}
