// ImageDecoder, in two steps: the size of the image, then its pixels.
#include "reference/families.h"
#include "reference/kernels/image/image_formats.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

bool is_gray(const Call& call) {
  return call.attributes().get_text("pixel_format", "RGB") == "Grayscale";
}

/// A file that cannot be decoded has no pixels.
Ints dims_of(const Call& call, const Image& image) {
  if (image.height == 0) return {0, 0, 0};
  return {image.height, image.width, is_gray(call) ? 1 : 3};
}

Status run_size(const Call& call) {
  Image image;
  Status status = read_image(call.input_elements<std::uint8_t>(0), &image);
  if (status.is_ok()) status = expect_dims(call, 0, Ints{3});
  if (status.is_ok()) {
    std::ranges::copy(dims_of(call, image), call.output_elements<std::int64_t>(0).begin());
  }
  return status;
}

/// Luma of ITU-R BT.601 in 16 bits behind the point, rounded.
std::uint8_t luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return static_cast<std::uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
}

Status run_pixels(const Call& call) {
  Image image;
  Status status = read_image(call.input_elements<std::uint8_t>(0), &image);
  if (status.is_ok()) status = expect_dims(call, 0, dims_of(call, image));
  if (!status.is_ok()) return status;
  const bool is_bgr = call.attributes().get_text("pixel_format", "RGB") == "BGR";
  const auto y = call.output_elements<std::uint8_t>(0);
  for (std::size_t i = 0; i + 3 <= image.rgb.size(); i += 3) {
    const std::uint8_t* pixel = &image.rgb[i];
    if (is_gray(call)) {
      y[i / 3] = luma(pixel[0], pixel[1], pixel[2]);
    } else {
      for (std::size_t c = 0; c < 3; ++c) y[i + c] = pixel[is_bgr ? 2 - c : c];
    }
  }
  return plugin::ok();
}

Status check_stream(const sluice_op& op) { return check_type(op, 0, Types<std::uint8_t>()); }

Status check_pixels(const sluice_op& op) {
  Status status = check_stream(op);
  return status.is_ok() ? check_type(op, 1, Types<std::int64_t>()) : status;
}

}  // namespace

std::vector<KernelEntry> image_decoder_kernels() {
  return {{.domain = "sluice",
           .kind = "ImageSize",
           .run = run_size,
           .check = check_stream,
           .output_types = {plugin::kI64}},
          {.domain = "sluice",
           .kind = "ImagePixels",
           .run = run_pixels,
           .check = check_pixels,
           .num_required_inputs = 2,
           .output_types = {plugin::kU8}}};
}

}  // namespace sluice::reference
