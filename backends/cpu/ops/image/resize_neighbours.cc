#include "ops/image/resize_neighbours.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ops/image/resize_taps.h"

namespace sluice::cpu {
namespace {

/// Keys' kernel (R. Keys, "Cubic convolution interpolation for digital image processing", 1981):
///
///     (a + 2) |x|^3 - (a + 3) |x|^2 + 1           up to 1
///     a |x|^3 - 5 a |x|^2 + 8 a |x| - 4 a         up to 2
double cubic_weight(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

ResizeNeighbours identity(std::int64_t size) {
  ResizeNeighbours neighbours(size, 1);
  for (std::int64_t i = 0; i < size; ++i) neighbours.set(i, 0, i, 1);
  neighbours.set_identity();
  return neighbours;
}

ResizeNeighbours nearest(const sluice_op& op, int dim) {
  const std::vector<ResizeTap> taps = resize_taps(op, dim);
  ResizeNeighbours neighbours(static_cast<std::int64_t>(taps.size()), 1);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    neighbours.set(static_cast<std::int64_t>(i), 0, taps[i].first, 1);
  }
  return neighbours;
}

/// Linear and cubic weights. An antialiased filter is as much wider as the axis shrinks.
struct Filter {
  bool is_cubic, is_antialiased, excludes_outside;
  double a, scale;

  Filter(const sluice_op& op, const ResizeAxis& axis) {
    const plugin::Attributes attributes(op);
    is_cubic = attributes.get_text("mode") == "cubic";
    is_antialiased = attributes.get_int("antialias") != 0;
    excludes_outside = attributes.get_int("exclude_outside") != 0;
    a = attributes.get_float("cubic_coeff_a", -0.75F);
    scale = is_antialiased ? std::min(axis.scale, 1.0) : 1.0;
  }
  /// The first neighbour, counted from the left one.
  double first() const { return std::floor((is_cubic ? -2 : -1) / scale) + 1; }
  std::int64_t count() const { return static_cast<std::int64_t>(2 - 2 * first()); }
  double weight(double distance) const {
    return is_cubic ? cubic_weight(a, distance * scale)
                    : std::max(0.0, 1 - std::fabs(distance * scale));
  }
};

/// The neighbours of output `i`, which lies at `x`. One outside reads the border; with
/// `exclude_outside` it weighs nothing, and the others add up to 1.
void add_neighbours(const Filter& filter, std::int64_t in, std::int64_t i, double x,
                    ResizeNeighbours* neighbours) {
  const double left = std::ceil(x) - 1;  // strictly left of `x`, as the reference has it
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t k = 0; k < filter.count(); ++k) {
    const double at = left + filter.first() + static_cast<double>(k);
    const bool is_outside = at < 0 || at > static_cast<double>(in - 1);
    weights.push_back(filter.excludes_outside && is_outside
                          ? 0
                          : filter.weight(filter.first() + static_cast<double>(k) - (x - left)));
    sum += weights.back();
  }
  const bool adds_up = (filter.is_antialiased || filter.excludes_outside) && sum != 0;
  for (std::int64_t k = 0; k < filter.count(); ++k) {
    const double at = std::clamp(left + filter.first() + static_cast<double>(k), 0.0,
                                 static_cast<double>(in - 1));
    const double weight = weights[static_cast<std::size_t>(k)];
    neighbours->set(i, k, static_cast<std::int64_t>(at), adds_up ? weight / sum : weight);
  }
}

}  // namespace

ResizeNeighbours::ResizeNeighbours(std::int64_t size, std::int64_t count)
    : size_(size),
      count_(count),
      index_(static_cast<std::size_t>(size * count)),
      weights_(index_.size(), 1.0F),
      exact_(index_.size(), 1.0) {}

void ResizeNeighbours::set(std::int64_t i, std::int64_t k, std::int64_t index, double weight) {
  index_[at(i, k)] = static_cast<std::int32_t>(index);
  weights_[at(i, k)] = static_cast<float>(weight);
  exact_[at(i, k)] = weight;
}

ResizeWeights ResizeNeighbours::view() const {
  if (is_one()) return {index_.data(), nullptr, nullptr, size_, count_};
  return {index_.data(), weights_.data(), exact_.data(), size_, count_};
}

ResizeNeighbours ResizeNeighbours::of_pixels(std::int64_t channels) const {
  ResizeNeighbours spread(size_ * channels, count_);
  for (std::int64_t i = 0; i < size_ * channels; ++i) {
    for (std::int64_t k = 0; k < count_; ++k) {
      spread.set(i, k, index(i / channels, k) * channels + i % channels, weight(i / channels, k));
    }
  }
  return spread;
}

ResizeNeighbours resize_neighbours(const sluice_op& op, int dim) {
  const ResizeAxis axis = resize_axis(op, dim);
  if (axis.is_identity()) return identity(axis.in);
  if (plugin::Attributes(op).get_text("mode", "nearest") == "nearest") return nearest(op, dim);
  const Filter filter(op, axis);
  ResizeNeighbours neighbours(axis.out, filter.count());
  const double limit = 4.0 * static_cast<double>(axis.in) + 4;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double x = resize_coordinate(op, axis, static_cast<double>(i));
    add_neighbours(filter, axis.in, i, std::clamp(x, -limit, limit), &neighbours);
  }
  return neighbours;
}

}  // namespace sluice::cpu
