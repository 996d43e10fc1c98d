// GridSample, AffineGrid, CenterCropPad, Col2Im.
#include <algorithm>
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/conv/window.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

enum class Outside { kZeros, kBorder, kReflection };

struct Sampler {
  std::string_view mode;
  Outside outside = Outside::kZeros;
  bool aligns_corners = false;
};

/// Mirrors `x` into [low, high] as often as it takes.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double turns = std::fmod(std::fabs(x - low), 2 * range);
  return low + (turns <= range ? turns : 2 * range - turns);
}

/// Where a grid value in [-1, 1] lies along an axis of `size`, kept within it if padding says so.
double place(const Sampler& sampler, double value, double size) {
  double x = sampler.aligns_corners ? (value + 1) / 2 * (size - 1) : ((value + 1) * size - 1) / 2;
  if (!std::isfinite(x)) x = -1;
  if (sampler.mode == "nearest") x = std::nearbyint(x);
  // The cubic neighbours are looked up one by one, so only the number must stay castable.
  if (sampler.mode == "cubic") return std::clamp(x, -1e9, 1e9);
  if (sampler.outside == Outside::kBorder) return std::clamp(x, 0.0, size - 1);
  if (sampler.outside == Outside::kReflection && (x < 0 || x > size - 1)) {
    const double half = sampler.aligns_corners ? 0 : 0.5;
    return reflect(x, -half, size - 1 + half);
  }
  return std::clamp(x, -1e9, 1e9);
}

/// The element that stands for position `at`; -1 for none, which counts as 0.
std::int64_t element_at(const Sampler& sampler, std::int64_t at, std::int64_t size) {
  if (at >= 0 && at < size) return at;
  if (sampler.outside == Outside::kZeros) return -1;
  if (sampler.outside == Outside::kBorder) return at < 0 ? 0 : size - 1;
  const double half = sampler.aligns_corners ? 0 : 0.5;
  const auto last = static_cast<double>(size - 1);
  const double inside = reflect(static_cast<double>(at), -half, last + half);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(inside)), 0, size - 1);
}

double cubic_weight(double x) {
  // The factor of PyTorch and of the standard.
  constexpr double kA = -0.75;
  x = std::fabs(x);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  return 0;
}

struct Tap {
  std::int64_t element;
  double weight;
};

std::vector<Tap> taps_of(const Sampler& sampler, double x, std::int64_t size) {
  const double left = std::floor(x);
  std::vector<Tap> taps;
  const int before = sampler.mode == "cubic" ? 1 : 0;
  const int after = sampler.mode == "cubic" ? 2 : 1;
  for (int k = -before; k <= after; ++k) {
    const double distance = x - (left + k);
    double weight = sampler.mode == "cubic" ? cubic_weight(distance) : 1 - std::fabs(distance);
    if (sampler.mode == "nearest") weight = std::nearbyint(x) == left + k ? 1 : 0;
    if (weight == 0) continue;
    taps.push_back({element_at(sampler, static_cast<std::int64_t>(left) + k, size), weight});
  }
  return taps;
}

/// The product of one tap per axis, summed over all combinations.
double sample(const double* image, Dims dims, const std::vector<std::vector<Tap>>& taps,
              std::size_t axis, std::int64_t offset) {
  if (axis == dims.size()) return image[offset];
  double sum = 0;
  for (const Tap& tap : taps[axis]) {
    if (tap.element < 0) continue;
    sum += tap.weight * sample(image, dims, taps, axis + 1, offset * dims[axis] + tap.element);
  }
  return sum;
}

Status run_grid_sample(const Call& call) {
  const Dims x = input_dims(call, 0);
  const Dims grid = input_dims(call, 1);
  const Dims y = output_dims(call, 0);
  const std::size_t rank = x.size() < 3 ? 0 : x.size() - 2;
  if (rank == 0 || grid.size() != x.size() || y.size() != x.size() || grid[0] != x[0] ||
      grid.back() != static_cast<std::int64_t>(rank) || y[0] != x[0] || y[1] != x[1] ||
      !std::ranges::equal(y.subspan(2), grid.subspan(1, rank))) {
    return refuse(call, "data, grid and output do not fit");
  }
  Sampler sampler;
  sampler.mode = call.attributes().get_text("mode", "linear");
  sampler.aligns_corners = call.attributes().get_int("align_corners") != 0;
  const std::string_view padding = call.attributes().get_text("padding_mode", "zeros");
  if (padding == "border") sampler.outside = Outside::kBorder;
  if (padding == "reflection") sampler.outside = Outside::kReflection;
  const Doubles image = read_doubles(call.input(0));
  const Doubles places = read_doubles(call.input(1));
  if (image.size() != index(size_of(x)) || places.size() != index(size_of(grid))) {
    return refuse_model(call, "unknown element type");
  }
  const std::int64_t size = size_of(x.subspan(2));
  const std::int64_t points = size_of(y.subspan(2));
  Doubles result(index(size_of(y)), 0.0);
  if (size == 0) return write_doubles(call, 0, result);
  std::vector<std::vector<Tap>> taps(rank);
  for (std::int64_t np = 0; np < x[0] * points; ++np) {
    for (std::size_t d = 0; d < rank; ++d) {
      // The grid names the last axis first.
      const double value = places[index(np) * rank + (rank - 1 - d)];
      taps[d] = taps_of(sampler, place(sampler, value, static_cast<double>(x[d + 2])), x[d + 2]);
    }
    const std::int64_t n = np / points;
    for (std::int64_t c = 0; c < x[1]; ++c) {
      result[index((n * x[1] + c) * points + np % points)] =
          sample(image.data() + (n * x[1] + c) * size, x.subspan(2), taps, 0, 0);
    }
  }
  return write_doubles(call, 0, result);
}

/// theta [N, rank, rank + 1] times (x, y, .., 1) of every pixel.
Status run_affine_grid(const Call& call) {
  const Dims theta_dims = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const std::size_t rank = y.size() < 4 ? 0 : y.size() - 2;
  const Doubles theta = read_doubles(call.input(0));
  if (rank == 0 || theta_dims.size() != 3 || theta_dims[0] != y[0] ||
      theta_dims[1] != static_cast<std::int64_t>(rank) || theta_dims[2] != theta_dims[1] + 1 ||
      y.back() != theta_dims[1] || theta.size() != index(size_of(theta_dims))) {
    return refuse(call, "theta and output do not fit");
  }
  const bool aligns_corners = call.attributes().get_int("align_corners") != 0;
  const std::int64_t points = size_of(y.subspan(1, rank));
  Doubles result;
  Doubles at(rank + 1, 1.0);
  for (std::int64_t np = 0; np < y[0] * points; ++np) {
    std::int64_t flat = np % points;
    for (std::size_t d = rank; d-- > 0;) {
      const auto size = static_cast<double>(y[d + 1]);
      const auto i = static_cast<double>(flat % y[d + 1]);
      flat /= y[d + 1];
      const double aligned = size > 1 ? 2 * i / (size - 1) - 1 : 0;
      at[rank - 1 - d] = aligns_corners ? aligned : (2 * i + 1) / size - 1;
    }
    const double* matrix = theta.data() + np / points * theta_dims[1] * theta_dims[2];
    for (std::size_t r = 0; r < rank; ++r) {
      double sum = 0;
      for (std::size_t k = 0; k <= rank; ++k) sum += matrix[r * (rank + 1) + k] * at[k];
      result.push_back(sum);
    }
  }
  return write_doubles(call, 0, result);
}

Status run_center_crop_pad(const Call& call) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  if (x.size() != y.size()) return refuse(call, "input and output differ in rank");
  const Ints strides = strides_of(x);
  const Mover mover(call.input(0), call.output(0));
  for_each_index(y, [&](std::int64_t i, Dims place) {
    std::int64_t offset = 0;
    bool is_inside = true;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const std::int64_t shift = x[d] > y[d] ? (x[d] - y[d]) / 2 : -((y[d] - x[d]) / 2);
      const std::int64_t at = place[d] + shift;
      is_inside = is_inside && at >= 0 && at < x[d];
      offset += at * strides[d];
    }
    if (is_inside) {
      mover.copy(offset, i);
    } else {
      mover.clear(i);
    }
  });
  return plugin::ok();
}

/// Blocks along each axis: as many as fit.
Status make_blocks(const Call& call, Dims block, Dims image, Window* window) {
  const std::vector<std::int64_t> ones(image.size(), 1);
  Status status = make_window(call, block, ones, image, window);
  for (std::size_t d = 0; status.is_ok() && d < image.size(); ++d) {
    if (block[d] < 1) return refuse(call, "an empty block");
    const std::int64_t room = image[d] + window->pads_before[d] + window->pads_after[d] -
                              ((block[d] - 1) * window->dilations[d] + 1);
    window->windows[d] = room < 0 ? 0 : room / window->strides[d] + 1;
  }
  return status;
}

Status run_col2im(const Call& call) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const std::vector<std::int64_t> block = read_ints(call.input(2));
  if (x.size() != 3 || y.size() < 3 || y[0] != x[0]) return refuse(call, "shapes do not fit");
  Window window;
  if (Status status = make_blocks(call, block, y.subspan(2), &window); !status.is_ok()) {
    return status;
  }
  const std::int64_t taps = window.num_taps();
  const std::int64_t windows = window.num_windows();
  const std::int64_t size = window.image_size();
  const Doubles values = read_doubles(call.input(0));
  if (windows != x[2] || x[1] % taps != 0 || x[1] / taps != y[1] ||
      values.size() != index(size_of(x))) {
    return refuse(call, "columns " + plugin::to_string(x) + " do not fill the image");
  }
  std::vector<std::int64_t> offsets;
  window_offsets(window, 0, windows, &offsets);
  Doubles result(index(size_of(y)), 0.0);
  for (std::int64_t nc = 0; nc < y[0] * y[1]; ++nc) {
    for (std::int64_t i = 0; i < taps * windows; ++i) {
      const std::int64_t offset = offsets[index(i)];
      if (offset >= 0) result[index(nc * size + offset)] += values[index(nc * taps * windows + i)];
    }
  }
  return write_doubles(call, 0, result);
}

}  // namespace

std::vector<KernelEntry> sampling_kernels() {
  return {{.kind = "GridSample", .run = run_grid_sample},
          {.kind = "AffineGrid", .run = run_affine_grid},
          {.kind = "CenterCropPad", .run = run_center_crop_pad, .check = check_first_movable},
          {.kind = "Col2Im", .run = run_col2im}};
}

}  // namespace sluice::reference
