#include "sluice/tensors/image.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "sluice/tensors/decode_image.h"
#include "sluice/tensors/resize.h"

namespace sluice::tool {
namespace {

/// Where channels, rows and columns stand in an image input's shape.
struct Axes {
  bool channels_last = false;
  int channels = 1;
};

bool is_channels(const ir::Dim& dim) { return dim.is(1) || dim.is(3); }

/// An image input is [1, C, H, W] or [1, H, W, C] with one or three channels. An open batch counts
/// as 1.
std::optional<Axes> find_axes(const ir::Type& type) {
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  if (shape == nullptr || shape->size() != 4) return std::nullopt;
  if ((*shape)[0].is_known() && !(*shape)[0].is(1)) return std::nullopt;
  if (is_channels((*shape)[1])) return Axes{false, static_cast<int>((*shape)[1].value())};
  if (is_channels((*shape)[3])) return Axes{true, static_cast<int>((*shape)[3].value())};
  return std::nullopt;
}

/// Samples, which are interleaved, in the order of the tensor.
template <class T>
std::vector<T> arrange(const std::vector<T>& samples, const Image& image, bool channels_last) {
  if (channels_last || image.channels == 1) return samples;
  std::vector<T> planes;
  planes.reserve(samples.size());
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = c; i < samples.size(); i += channels) planes.push_back(samples[i]);
  }
  return planes;
}

Status check_normalisation(const Preprocessing& preprocessing, int channels, bool is_u8) {
  for (const auto* values : {&preprocessing.means, &preprocessing.deviations}) {
    if (values->empty()) continue;
    if (is_u8) return invalid_argument("--mean and --std need an input of type f32, this is u8");
    if (values->size() == 1 || values->size() == static_cast<std::size_t>(channels)) continue;
    return invalid_argument("--mean and --std take 1 or {} numbers, got {}", channels,
                            values->size());
  }
  for (const float deviation : preprocessing.deviations) {
    if (!(deviation > 0)) return invalid_argument("--std {}: not above 0", deviation);
  }
  return ok_status();
}

const ir::Dim& height_of(const Axes& axes, const ir::Type& type) {
  return (*type.shape())[axes.channels_last ? 1 : 2];
}
const ir::Dim& width_of(const Axes& axes, const ir::Type& type) {
  return (*type.shape())[axes.channels_last ? 2 : 3];
}

/// The message names the option that makes the image fit.
Status check_size(const Image& image, const Axes& axes, const ir::Type& type) {
  const ir::Dim& height = height_of(axes, type);
  const ir::Dim& width = width_of(axes, type);
  const auto differs = [](const ir::Dim& dim, int size) { return dim.is_known() && !dim.is(size); };
  if (!differs(height, image.height) && !differs(width, image.width)) return ok_status();
  // The centre is cut out of an image whose shorter side is as long as the input's longer one.
  const std::int64_t side =
      std::max(height.is_known() ? height.value() : 0, width.is_known() ? width.value() : 0);
  return invalid_argument("the image has {} x {} pixels, the input takes {} x {}; give --resize {}",
                          image.width, image.height, width.to_string(), height.to_string(), side);
}

/// Resizes the shorter side to `side` and crops to what the type says of height and width.
Result<Image> fit(const Image& image, const Axes& axes, const ir::Type& type, int side) {
  const ir::Dim& height = height_of(axes, type);
  const ir::Dim& width = width_of(axes, type);
  const auto size = [&](const ir::Dim& dim) {
    return dim.is_known() ? static_cast<int>(std::min<std::int64_t>(dim.value(), 1 << 20)) : side;
  };
  return crop_centre(SLUICE_TRY(resize_shorter_side(image, side)), size(width), size(height));
}

/// (sample / 255 - mean) / deviation, per channel.
std::vector<float> normalise(const Image& image, bool channels_last,
                             const Preprocessing& preprocessing) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const auto value_at = [](const std::vector<float>& values, std::size_t channel, float otherwise) {
    if (values.empty()) return otherwise;
    return values.size() == 1 ? values[0] : values[channel];
  };
  std::vector<float> floats;
  floats.reserve(image.samples.size());
  for (std::size_t i = 0; i < image.samples.size(); ++i) {
    const float sample = static_cast<float>(image.samples[i]) / 255.0F;
    const std::size_t channel = i % channels;
    floats.push_back((sample - value_at(preprocessing.means, channel, 0.0F)) /
                     value_at(preprocessing.deviations, channel, 1.0F));
  }
  return arrange(floats, image, channels_last);
}

}  // namespace

bool is_image_file(std::string_view path) {
  return path.ends_with(".png") || path.ends_with(".jpg") || path.ends_with(".jpeg");
}

Result<Image> read_image(const std::filesystem::path& path, int channels) {
  return decode_image(SLUICE_TRY(map_file(path)), channels).with_context(path.string());
}

Result<ir::Constant> image_tensor(const std::filesystem::path& path, const ir::Type& type,
                                  const Preprocessing& preprocessing) {
  const auto axes = find_axes(type);
  const bool is_u8 = type.element() == ir::ElementType::kU8;
  if (!axes || (!is_u8 && type.element() != ir::ElementType::kF32)) {
    return invalid_argument("an image does not fit an input of type {}", type.to_string());
  }
  SLUICE_TRY(check_normalisation(preprocessing, axes->channels, is_u8));
  Image image = SLUICE_TRY(read_image(path, axes->channels));
  if (preprocessing.resize > 0) {
    image = SLUICE_TRY(fit(image, *axes, type, preprocessing.resize));
  } else {
    SLUICE_TRY(check_size(image, *axes, type));
  }
  const ir::Shape shape = axes->channels_last
                              ? ir::Shape{1, image.height, image.width, image.channels}
                              : ir::Shape{1, image.channels, image.height, image.width};
  if (!is_u8) {
    return ir::make_f32_constant(normalise(image, axes->channels_last, preprocessing), shape);
  }
  const std::vector<std::uint8_t> samples = arrange(image.samples, image, axes->channels_last);
  const auto bytes = std::as_bytes(std::span(samples));
  return ir::Constant{ir::Type::tensor(type.element(), shape),
                      Bytes::own({bytes.begin(), bytes.end()})};
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
