// Resize, one axis after another: each output is a weighted sum of neighbouring inputs.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

struct Axis {
  std::int64_t in = 0, out = 0;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
};

/// What every axis shares.
struct Options {
  std::string_view coordinates, mode, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool is_antialiased = false, excludes_outside = false;
};

/// Where output `i` lies among the inputs, in units of input elements.
double coordinate(const Options& options, const Axis& axis, double i) {
  const auto in = static_cast<double>(axis.in);
  const double resized = axis.scale * in;
  const std::string_view mode = options.coordinates;
  if (mode == "align_corners") return resized == 1 ? 0 : i * (in - 1) / (resized - 1);
  if (mode == "asymmetric") return i / axis.scale;
  if (mode == "tf_crop_and_resize") {
    const double length = (axis.roi_end - axis.roi_begin) * (in - 1);
    const double inside = resized == 1 ? length / 2 : i * length / (resized - 1);
    return inside + axis.roi_begin * (in - 1);
  }
  if (mode == "pytorch_half_pixel" && resized == 1) return -0.5;
  if (mode == "tf_half_pixel_for_nn") return (i + 0.5) / axis.scale;
  const double centre = (i + 0.5) / axis.scale - 0.5;
  if (mode != "half_pixel_symmetric") return centre;
  return centre + in / 2 * (1 - static_cast<double>(axis.out) / resized);
}

/// Weights of inputs `first`, `first` + 1, ... for one output.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

/// "simple" is the rounding of Resize before opset 11.
bool takes_left(std::string_view mode, double scale, double ratio) {
  if (mode == "simple") mode = scale < 1 ? "ceil" : "floor";
  if (ratio == 1 || mode == "ceil") return false;
  return mode == "floor" || (mode == "round_prefer_ceil" ? ratio < 0.5 : ratio <= 0.5);
}

double cubic_weight(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// The left neighbour lies strictly left of `x`, so that `ratio` is in (0, 1].
Taps taps_at(const Options& options, const Axis& axis, double x) {
  const double left = std::ceil(x) - 1;
  const double ratio = x - left;
  if (options.mode == "nearest") {
    // One tap: another would make a NaN of an infinity beside the element.
    const bool is_left = takes_left(options.nearest, axis.scale, ratio);
    return {static_cast<std::int64_t>(left) + (is_left ? 0 : 1), {1.0}};
  }
  const bool is_cubic = options.mode == "cubic";
  const double scale = options.is_antialiased ? std::min(axis.scale, 1.0) : 1.0;
  const double start = std::floor((is_cubic ? -2 : -1) / scale) + 1;
  Taps taps = {static_cast<std::int64_t>(left + start), {}};
  double sum = 0;
  for (double k = start; k < 2 - start; ++k) {
    const double distance = (k - ratio) * scale;
    const double weight =
        is_cubic ? cubic_weight(options.cubic, distance) : std::max(0.0, 1 - std::fabs(distance));
    taps.weights.push_back(weight);
    sum += weight;
  }
  if (options.is_antialiased) {
    for (double& weight : taps.weights) weight /= sum;
  }
  return taps;
}

/// Gives what lies outside no weight.
void exclude_outside(std::int64_t size, Taps& taps) {
  double sum = 0;
  for (std::size_t k = 0; k < taps.weights.size(); ++k) {
    const std::int64_t at = taps.first + static_cast<std::int64_t>(k);
    if (at < 0 || at >= size) taps.weights[k] = 0;
    sum += taps.weights[k];
  }
  for (double& weight : taps.weights) weight = sum == 0 ? 0 : weight / sum;
}

/// x [outer, in, inner] -> [outer, out, inner].
std::vector<double> resize_axis(const Options& options, const Axis& axis,
                                const std::vector<double>& x, std::int64_t outer,
                                std::int64_t inner) {
  std::vector<double> y(index(outer * axis.out * inner), 0.0);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    double place = coordinate(options, axis, static_cast<double>(i));
    if (std::isnan(place)) place = -1;  // of a region whose corners are no numbers
    const bool is_outside = options.coordinates == "tf_crop_and_resize" &&
                            (place < 0 || place > static_cast<double>(axis.in - 1));
    const double limit = 4.0 * static_cast<double>(axis.in) + 4;
    Taps taps = taps_at(options, axis, std::clamp(place, -limit, limit));
    if (options.excludes_outside) exclude_outside(axis.in, taps);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t j = 0; j < inner; ++j) {
        double& sum = y[index((o * axis.out + i) * inner + j)];
        for (std::size_t k = 0; k < taps.weights.size() && !is_outside; ++k) {
          const std::int64_t at =
              std::clamp<std::int64_t>(taps.first + static_cast<std::int64_t>(k), 0, axis.in - 1);
          sum += taps.weights[k] * x[index((o * axis.in + at) * inner + j)];
        }
        if (is_outside) sum = options.extrapolation;
      }
    }
  }
  return y;
}

/// The scale that all of `axes` share under a policy; nullopt for none.
std::optional<double> shared_scale(const Call& call, const std::vector<std::size_t>& axes,
                                   const std::vector<std::int64_t>& sizes) {
  const std::string_view policy = call.attributes().get_text("keep_aspect_ratio_policy", "stretch");
  if (policy != "not_larger" && policy != "not_smaller") return std::nullopt;
  std::optional<double> shared;
  for (std::size_t i = 0; i < axes.size() && i < sizes.size(); ++i) {
    const double scale =
        static_cast<double>(sizes[i]) / static_cast<double>(input_dims(call, 0)[axes[i]]);
    if (!shared) shared = scale;
    shared = policy == "not_larger" ? std::min(*shared, scale) : std::max(*shared, scale);
  }
  return shared;
}

Status read_resized(const Call& call, std::vector<std::size_t>* axes) {
  const std::size_t rank = input_dims(call, 0).size();
  const auto named = call.attributes().get_ints("axes");
  if (named.empty()) {
    axes->resize(rank);
    std::iota(axes->begin(), axes->end(), 0U);
  }
  for (const std::int64_t axis : named) {
    const std::int64_t inside = wrap_axis(axis, rank);
    if (inside < 0) return refuse(call, "an axis is outside the input");
    axes->push_back(index(inside));
  }
  return plugin::ok();
}

/// Scales are given, or follow from the sizes.
Status read_axes(const Call& call, std::vector<Axis>* result) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  if (x.size() != y.size()) return refuse(call, "input and output differ in rank");
  for (std::size_t d = 0; d < x.size(); ++d) result->push_back({x[d], y[d]});
  std::vector<std::size_t> axes;
  if (Status status = read_resized(call, &axes); !status.is_ok()) return status;
  const std::vector<double> roi = read_doubles(call.input(1));
  const std::vector<double> scales = read_doubles(call.input(2));
  const auto shared = shared_scale(call, axes, read_ints(call.input(3)));
  if (!scales.empty() && scales.size() != axes.size()) return refuse(call, "scales do not fit");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = (*result)[axes[i]];
    if (axis.in == 0 && axis.out != 0) return refuse(call, "nothing cannot be enlarged");
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    if (shared) axis.scale = *shared;
    if (!scales.empty()) axis.scale = scales[i];
    if (roi.size() == 2 * axes.size()) {
      axis.roi_begin = roi[i];
      axis.roi_end = roi[i + axes.size()];
    }
    // Only an output without elements could need a wider filter.
    const bool is_fit =
        axis.out == 0 || (axis.scale > 0 && 1 / axis.scale <= 4.0 * static_cast<double>(axis.in));
    if (!is_fit) return refuse(call, "scale " + std::to_string(axis.scale) + " does not fit");
  }
  return plugin::ok();
}

Status check_modes(const Call& call, const Options& options) {
  const auto is_one_of = [](std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (!is_one_of(options.mode, {"nearest", "linear", "cubic"})) {
    return refuse_model(
        call, "mode \"" + std::string(options.mode) + "\"; expected nearest, linear or cubic");
  }
  if (!is_one_of(options.nearest,
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"})) {
    return refuse_model(call,
                        "nearest_mode \"" + std::string(options.nearest) +
                            "\"; expected round_prefer_floor, round_prefer_ceil, floor or ceil");
  }
  return plugin::ok();
}

Status run_resize(const Call& call) {
  const plugin::Attributes attributes = call.attributes();
  Options options;
  options.coordinates = attributes.get_text("coordinate_transformation_mode", "half_pixel");
  options.mode = attributes.get_text("mode", "nearest");
  options.nearest = attributes.get_text("nearest_mode", "round_prefer_floor");
  options.cubic = attributes.get_float("cubic_coeff_a", -0.75F);
  options.extrapolation = attributes.get_float("extrapolation_value");
  options.is_antialiased = attributes.get_int("antialias") != 0;
  options.excludes_outside = attributes.get_int("exclude_outside") != 0;
  if (Status status = check_modes(call, options); !status.is_ok()) return status;
  if (plugin::num_elements(call.output(0)) == 0)
    return plugin::ok();  // however long other axes are
  std::vector<Axis> axes;
  if (Status status = read_axes(call, &axes); !status.is_ok()) return status;
  std::vector<double> values = read_doubles(call.input(0));
  if (values.size() != index(plugin::num_elements(call.input(0)))) {
    return refuse_model(call, "unknown element type");
  }
  std::vector<std::int64_t> dims(input_dims(call, 0).begin(), input_dims(call, 0).end());
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const bool is_cropped = options.coordinates == "tf_crop_and_resize" &&
                            (axes[d].roi_begin != 0 || axes[d].roi_end != 1);
    if (axes[d].scale == 1 && axes[d].in == axes[d].out && !is_cropped) continue;
    const std::int64_t outer = size_of(Dims(dims).first(d));
    const std::int64_t inner = size_of(Dims(dims).subspan(d + 1));
    values = resize_axis(options, axes[d], values, outer, inner);
    dims[d] = axes[d].out;
  }
  return write_doubles(call, 0, values);
}

}  // namespace

std::vector<KernelEntry> resize_kernels() { return {{.kind = "Resize", .run = run_resize}}; }

}  // namespace sluice::reference
