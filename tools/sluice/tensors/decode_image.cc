#include "sluice/tensors/decode_image.h"

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string_view>

namespace sluice::tool {
namespace {

/// libjpeg calls error_exit for a damaged file, which must not return.
struct JpegErrors {
  jpeg_error_mgr base = {};
  std::jmp_buf back = {};
  char message[JMSG_LENGTH_MAX] = {};
};

void leave(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);  // `base` is its first member
  jpeg->err->format_message(jpeg, errors->message);
  std::longjmp(errors->back, 1);
}

void ignore_message(j_common_ptr /*jpeg*/) {}

/// Behind these libjpeg makes up pixels. Its other warnings change none.
constexpr std::array kDamages = {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE,
                                 JWRN_MUST_RESYNC, JWRN_BOGUS_PROGRESSION};

void leave_if_damaged(j_common_ptr jpeg, int level) {
  const bool is_damage = std::ranges::find(kDamages, jpeg->err->msg_code) != kDamages.end();
  if (level < 0 && is_damage) leave(jpeg);
}

/// Everything that longjmp may leave: no object with a destructor may live in this frame. True if
/// the image is complete; else errors.message says why not, or is empty for too many pixels.
bool decode(const Bytes& file, int channels, jpeg_decompress_struct& jpeg, JpegErrors& errors,
            Image& image) {
  if (setjmp(errors.back) != 0) return false;  // NOLINT: the way libjpeg reports errors
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  if (std::uint64_t{jpeg.image_width} * jpeg.image_height > kMaxPixels) return false;
  jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  image.width = static_cast<int>(jpeg.output_width);
  image.height = static_cast<int>(jpeg.output_height);
  image.channels = channels;
  const std::size_t row_bytes = std::size_t{jpeg.output_width} * static_cast<unsigned>(channels);
  image.samples.resize(row_bytes * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = image.samples.data() + row_bytes * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

/// By the weights of JPEG's luminance (ITU-R BT.601), so that an image is as grey in either format.
void take_grey(std::vector<std::uint8_t>& samples) {
  const std::size_t num_pixels = samples.size() / 3;
  for (std::size_t i = 0; i < num_pixels; ++i) {
    const std::uint8_t* rgb = samples.data() + i * 3;
    const std::uint32_t sum = 19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2];
    samples[i] = static_cast<std::uint8_t>((sum + 0x8000U) >> 16U);
  }
  samples.resize(num_pixels);
}

}  // namespace

Result<Image> decode_png(const Bytes& file, int channels) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, file.data(), file.size()) == 0) {
    return invalid_argument("{}", png.message);
  }
  if (std::uint64_t{png.width} * png.height > kMaxPixels) {
    png_image_free(&png);
    return invalid_argument("{} x {} pixels are too many", png.width, png.height);
  }
  // libpng makes grey of colours as light adds up, which no network was trained with, and takes
  // samples of 16 bits for amounts of light.
  const bool is_grey = channels == 1 && (png.format & PNG_FORMAT_FLAG_COLOR) == 0;
  png.format = is_grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Image image = {static_cast<int>(png.width), static_cast<int>(png.height), channels, {}};
  image.samples.resize(PNG_IMAGE_SIZE(png));
  const png_color black = {};
  if (png_image_finish_read(&png, &black, image.samples.data(), 0, nullptr) == 0) {
    return invalid_argument("{}", png.message);
  }
  if (channels == 1 && !is_grey) take_grey(image.samples);
  return image;
}

Result<Image> decode_jpeg(const Bytes& file, int channels) {
  JpegErrors errors;
  jpeg_decompress_struct jpeg = {};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = leave_if_damaged;
  errors.base.output_message = ignore_message;
  Image image;
  const bool is_complete = decode(file, channels, jpeg, errors, image);
  const std::uint64_t width = jpeg.image_width;
  const std::uint64_t height = jpeg.image_height;
  jpeg_destroy_decompress(&jpeg);
  if (is_complete) return image;
  if (errors.message[0] != '\0') return invalid_argument("{}", errors.message);
  return invalid_argument("{} x {} pixels are too many", width, height);
}

Result<Image> decode_image(const Bytes& file, int channels) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<std::size_t>(file.size(), 8));
  if (start.starts_with("\x89PNG")) return decode_png(file, channels);
  if (start.starts_with("\xff\xd8\xff")) return decode_jpeg(file, channels);
  return invalid_argument("this is neither a PNG nor a JPEG file");
}

}  // namespace sluice::tool
