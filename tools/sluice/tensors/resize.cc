#include "sluice/tensors/resize.h"

#include <algorithm>
#include <cmath>

namespace sluice::tool {
namespace {

/// Pixels `first`, `first + 1`, ... of a row, and how much of each one output pixel takes.
struct Taps {
  int first = 0;
  std::vector<float> weights;  ///< sum to 1
};

/// A triangle around the output pixel's centre, at least one input pixel wide to each side.
std::vector<Taps> taps_of(int from, int to) {
  // Made smaller, an image needs a wider triangle: else pixels between the samples would be
  // skipped.
  const double scale = static_cast<double>(from) / to;
  const double radius = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::floor(centre - radius + 0.5)));
    const int last = std::min(from, static_cast<int>(std::floor(centre + radius + 0.5)));
    Taps& taps = all[static_cast<std::size_t>(i)];
    taps.first = first;
    double sum = 0;
    for (int at = first; at < last; ++at) {
      const double weight = std::max(0.0, 1 - std::abs(at + 0.5 - centre) / radius);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

std::uint8_t rounded(float value) {
  return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

Image resize_rows(const Image& image, int width) {
  Image out = {width, image.height, image.channels, {}};
  const auto channels = static_cast<std::size_t>(image.channels);
  out.samples.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(image.height) *
                      channels);
  const std::vector<Taps> taps = taps_of(image.width, width);
  for (int row = 0; row < image.height; ++row) {
    const std::uint8_t* line = image.samples.data() + static_cast<std::size_t>(row) *
                                                          static_cast<std::size_t>(image.width) *
                                                          channels;
    for (const Taps& tap : taps) {
      for (std::size_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < tap.weights.size(); ++k) {
          sum += tap.weights[k] * line[(static_cast<std::size_t>(tap.first) + k) * channels + c];
        }
        out.samples.push_back(rounded(sum));
      }
    }
  }
  return out;
}

Image resize_columns(const Image& image, int height) {
  Image out = {image.width, height, image.channels, {}};
  const auto row_bytes =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  out.samples.reserve(row_bytes * static_cast<std::size_t>(height));
  for (const Taps& tap : taps_of(image.height, height)) {
    const std::uint8_t* line =
        image.samples.data() + static_cast<std::size_t>(tap.first) * row_bytes;
    for (std::size_t i = 0; i < row_bytes; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < tap.weights.size(); ++k) {
        sum += tap.weights[k] * line[k * row_bytes + i];
      }
      out.samples.push_back(rounded(sum));
    }
  }
  return out;
}

/// Where that many pixels fewer begin. Half of an odd number is rounded to the even one, as in
/// torchvision, which most image networks were trained and measured with.
int border_of(int num_fewer) { return num_fewer / 2 + (num_fewer % 4 == 3 ? 1 : 0); }

}  // namespace

Image resize(const Image& image, int width, int height) {
  return resize_columns(resize_rows(image, width), height);
}

Result<Image> resize_shorter_side(const Image& image, int side) {
  // The memory for the result is bounded before it is taken.
  constexpr std::int64_t kMaxResizedPixels = std::int64_t{64} << 20;
  const std::int64_t shorter = std::min(image.width, image.height);
  const std::int64_t width =
      std::max<std::int64_t>(side, std::int64_t{image.width} * side / shorter);
  const std::int64_t height =
      std::max<std::int64_t>(side, std::int64_t{image.height} * side / shorter);
  if (side > 16384 || width > kMaxResizedPixels / height) {
    return invalid_argument("{} x {} pixels are too many", width, height);
  }
  return resize(image, static_cast<int>(width), static_cast<int>(height));
}

Result<Image> crop_centre(const Image& image, int width, int height) {
  if (width > image.width || height > image.height) {
    return invalid_argument("{} x {} pixels cannot be cropped to {} x {}; use a larger --resize",
                            image.width, image.height, width, height);
  }
  Image out = {width, height, image.channels, {}};
  const int left = border_of(image.width - width);
  const int top = border_of(image.height - height);
  const auto row_bytes = static_cast<std::ptrdiff_t>(width) * image.channels;
  for (int row = 0; row < height; ++row) {
    const auto start =
        image.samples.begin() +
        ((static_cast<std::ptrdiff_t>(top) + row) * image.width + left) * image.channels;
    out.samples.insert(out.samples.end(), start, start + row_bytes);
  }
  return out;
}

}  // namespace sluice::tool
