#include "reference/kernels/image/image_formats.h"

// clang-format off: libjpeg's header needs FILE and size_t
#include <jpeglib.h>

#include <cstdio>
// clang-format on
#include <png.h>

#include <algorithm>
#include <csetjmp>

namespace sluice::reference {
namespace {

/// A limit above the size of real images and below the size of memory.
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
/// Deflate packs at most 1032 bytes into one (zlib.net/zlib_tech.html), of eight pixels at best.
constexpr std::int64_t kPngPixelsPerByte = 8 * 1032;
/// A block of 8x8 pixels takes at least a bit.
constexpr std::int64_t kJpegPixelsPerByte = 8 * 64;
/// Passes of a progressive file over the image; encoders make about ten.
constexpr int kMaxJpegScans = 100;

bool starts_with(std::span<const std::uint8_t> file, std::initializer_list<std::uint8_t> magic) {
  return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
}

/// False also where the file is too short for that many pixels, so that a few damaged bytes cost no
/// memory.
bool is_acceptable(std::int64_t height, std::int64_t width, std::size_t file_bytes,
                   std::int64_t pixels_per_byte) {
  if (height <= 0 || width <= 0 || height > kMaxPixels / width) return false;
  return height * width / pixels_per_byte <= static_cast<std::int64_t>(file_bytes);
}

// ---- PNG ----------------------------------------------------------------------------------------

void read_png(std::span<const std::uint8_t> file, Image* image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, file.data(), file.size()) == 0) return;
  png.format = PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else 16 bits are amounts of light
  if (is_acceptable(png.height, png.width, file.size(), kPngPixelsPerByte)) {
    *image = {png.height, png.width, {}};
    image->rgb.resize(PNG_IMAGE_SIZE(png));
    const png_color black = {0, 0, 0};
    if (png_image_finish_read(&png, &black, image->rgb.data(), 0, nullptr) == 0) *image = {};
  }
  png_image_free(&png);
}

// ---- JPEG ---------------------------------------------------------------------------------------

/// libjpeg's way to fail is a function that does not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
};

void leave_jpeg(j_common_ptr jpeg) {
  std::longjmp(reinterpret_cast<JpegErrors*>(jpeg->err)->escape, 1);  // NOLINT
}
void say_nothing(j_common_ptr /*jpeg*/) {}

/// A warning is a damaged file: what follows need not be decoded.
void leave_jpeg_if_damaged(j_common_ptr jpeg, int level) {
  if (level < 0) leave_jpeg(jpeg);
}

void count_scans(j_common_ptr jpeg) {
  const auto* decoder = reinterpret_cast<const jpeg_decompress_struct*>(jpeg);
  if (decoder->input_scan_number > kMaxJpegScans) leave_jpeg(jpeg);
}

/// No object with a destructor lives in here: a failure jumps out of it. False if it fails.
bool decode_jpeg(jpeg_decompress_struct& jpeg, JpegErrors& errors, jpeg_progress_mgr& progress,
                 std::span<const std::uint8_t> file, Image* image) {
  if (setjmp(errors.escape) != 0) return false;  // NOLINT
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &progress;
  jpeg_mem_src(&jpeg, file.data(), file.size());
  jpeg_read_header(&jpeg, TRUE);
  if (!is_acceptable(jpeg.image_height, jpeg.image_width, file.size(), kJpegPixelsPerByte)) {
    return false;
  }
  image->height = jpeg.image_height;
  image->width = jpeg.image_width;
  image->rgb.resize(static_cast<std::size_t>(image->height * image->width * 3));
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = image->rgb.data() + std::size_t{jpeg.output_scanline} * jpeg.output_width * 3;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  return jpeg_finish_decompress(&jpeg) == TRUE;
}

void read_jpeg(std::span<const std::uint8_t> file, Image* image) {
  jpeg_decompress_struct jpeg = {};
  JpegErrors errors = {};
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave_jpeg;
  errors.manager.emit_message = leave_jpeg_if_damaged;
  errors.manager.output_message = say_nothing;
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = count_scans;
  if (!decode_jpeg(jpeg, errors, progress, file, image)) *image = {};
  jpeg_destroy_decompress(&jpeg);
}

}  // namespace

Status read_image(std::span<const std::uint8_t> file, Image* image) {
  *image = {};
  if (starts_with(file, {0x89, 'P', 'N', 'G'})) {
    read_png(file, image);
  } else if (starts_with(file, {0xff, 0xd8, 0xff})) {
    read_jpeg(file, image);
  } else {
    return plugin::invalid_argument("ImageDecoder: the file is neither PNG nor JPEG");
  }
  return plugin::ok();
}

}  // namespace sluice::reference
