#include "sluice/image.h"

#include <png.h>

#include <optional>
#include <utility>

namespace sluice::tool {
namespace {

/// Where channels, rows and columns stand in an image input's shape.
struct Axes {
  bool channels_last = false;
  int channels = 1;
};

bool is_channels(const ir::Dim& dim) { return dim.is(1) || dim.is(3); }

std::optional<Axes> find_axes(const ir::Type& type) {
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  if (shape == nullptr || shape->size() != 4) return std::nullopt;
  if ((*shape)[0].is_known() && !(*shape)[0].is(1)) return std::nullopt;
  if (is_channels((*shape)[1])) return Axes{false, static_cast<int>((*shape)[1].value())};
  if (is_channels((*shape)[3])) return Axes{true, static_cast<int>((*shape)[3].value())};
  return std::nullopt;
}

/// Samples in the order of the tensor.
std::vector<std::uint8_t> arrange(const Image& image, bool channels_last) {
  if (channels_last || image.channels == 1) return image.samples;
  std::vector<std::uint8_t> planes;
  planes.reserve(image.samples.size());
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = c; i < image.samples.size(); i += channels) {
      planes.push_back(image.samples[i]);
    }
  }
  return planes;
}

}  // namespace

Result<Image> read_png(const std::filesystem::path& path, int channels) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0) {
    return invalid_argument("{}: {}", path.string(), png.message);
  }
  constexpr std::uint64_t kMostPixels = std::uint64_t{64} << 20;
  if (std::uint64_t{png.width} * png.height > kMostPixels) {
    png_image_free(&png);
    return invalid_argument("{}: {} x {} pixels are too many", path.string(), png.width,
                            png.height);
  }
  png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image = {static_cast<int>(png.width), static_cast<int>(png.height), channels, {}};
  image.samples.resize(PNG_IMAGE_SIZE(png));
  const png_color black = {};
  if (png_image_finish_read(&png, &black, image.samples.data(), 0, nullptr) == 0) {
    return invalid_argument("{}: {}", path.string(), png.message);
  }
  return image;
}

Result<ir::Constant> png_tensor(const std::filesystem::path& path, const ir::Type& type) {
  const auto axes = find_axes(type);
  const bool is_u8 = type.element() == ir::ElementType::kU8;
  if (!axes || (!is_u8 && type.element() != ir::ElementType::kF32)) {
    return invalid_argument("an image does not fit an input of type {}", type.to_string());
  }
  const Image image = SLUICE_TRY(read_png(path, axes->channels));
  const ir::Shape shape = axes->channels_last
                              ? ir::Shape{1, image.height, image.width, image.channels}
                              : ir::Shape{1, image.channels, image.height, image.width};
  const std::vector<std::uint8_t> samples = arrange(image, axes->channels_last);
  if (is_u8) {
    const auto bytes = std::as_bytes(std::span(samples));
    return ir::Constant{ir::Type::tensor(type.element(), shape),
                        Bytes::own({bytes.begin(), bytes.end()})};
  }
  std::vector<float> scaled;
  scaled.reserve(samples.size());
  for (const std::uint8_t sample : samples) scaled.push_back(static_cast<float>(sample) / 255.0F);
  return ir::make_f32_constant(scaled, shape);
}

std::string draw(const Image& image) {
  static constexpr std::string_view kShades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  std::string text;
  for (int row = 0; row < image.height; ++row) {
    for (int column = 0; column < image.width; ++column) {
      const auto at = static_cast<std::size_t>((row * image.width + column) * image.channels);
      text += kShades[(image.samples[at] * 5) / 256];
    }
    text += '\n';
  }
  return text;
}

}  // namespace sluice::tool
