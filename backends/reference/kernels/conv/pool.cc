// Pooling over windows and over whole images.
#include <cmath>
#include <limits>

#include "reference/arithmetic.h"
#include "reference/families.h"
#include "reference/kernels/conv/window.h"

namespace sluice::reference {
namespace {

/// Data [N, C, image...], output [N, C, windows...].
Status make_pool(const Call& call, Window* window) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  if (x.size() < 3 || y.size() != x.size() || x[0] != y[0] || x[1] != y[1]) {
    return refuse(call, "data " + plugin::to_string(x) + " and output " + plugin::to_string(y) +
                            " do not fit");
  }
  const auto kernel = call.attributes().get_ints("kernel_shape");
  if (std::ranges::any_of(kernel, [](auto size) { return size < 1; })) {
    return refuse_model(call, "kernel_shape " + plugin::to_string(kernel) + " is empty");
  }
  return make_window(call, kernel, y.subspan(2), x.subspan(2), window);
}

/// Calls `pool(channel, window index, taps, stride of taps)` for each window of each channel.
template <typename Pool>
void for_each_window(const Window& window, std::int64_t channels, const Pool& pool) {
  const std::int64_t windows = window.num_windows();
  std::vector<std::int64_t> offsets;
  for (std::int64_t first = 0; first < windows; first += kWindowsAtOnce) {
    const std::int64_t count = std::min(kWindowsAtOnce, windows - first);
    // Offsets stand tap by tap, so the taps of one window are `count` apart.
    window_offsets(window, first, count, &offsets);
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < count; ++i) pool(c, first + i, offsets.data() + i, count);
    }
  }
}

std::int64_t num_channels(const Call& call) {
  const Dims x = input_dims(call, 0);
  return x[0] * x[1];
}

/// Row-major offset within an image as a column-major one.
std::int64_t column_major(std::int64_t offset, Dims image) {
  std::int64_t stride = size_of(image);
  std::int64_t result = 0;
  for (std::size_t d = image.size(); d-- > 0;) {
    stride /= image[d];
    result += offset % image[d] * stride;
    offset /= image[d];
  }
  return result;
}

/// A NaN exceeds every number, so the first one of a window is the result.
template <typename T>
bool exceeds(Compute<T> a, Compute<T> b) {
  return a > b || (a != a && b == b);
}

template <typename T>
void max_pool(const Call& call, const Window& window) {
  const auto x = call.input_elements<T>(0);
  const auto y = call.output_elements<T>(0);
  const bool is_column_major = call.attributes().get_int("storage_order") != 0;
  const std::int64_t size = window.image_size();
  std::span<std::int64_t> indices;
  if (call.has_output(1)) indices = call.output_elements<std::int64_t>(1);
  for_each_window(window, num_channels(call), [&](auto c, auto w, const auto* taps, auto step) {
    std::int64_t best = -1;
    for (std::int64_t t = 0; t < window.num_taps(); ++t) {
      const std::int64_t at = taps[t * step];
      if (at < 0) continue;
      if (best < 0 || exceeds<T>(x[index(c * size + at)], x[index(c * size + best)])) best = at;
    }
    const std::int64_t target = c * window.num_windows() + w;
    y[index(target)] =
        best < 0 ? T(std::numeric_limits<Compute<T>>::lowest()) : x[index(c * size + best)];
    if (indices.empty()) return;
    const bool turns = is_column_major && best >= 0;
    indices[index(target)] =
        best < 0 ? 0 : c * size + (turns ? column_major(best, window.image) : best);
  });
}

Status run_max_pool(const Call& call) {
  Window window;
  Status status = make_pool(call, &window);
  if (status.is_ok()) status = check_types(call, call.input(0).element_type);
  if (status.is_ok() && call.has_output(1)) {
    status = check_dims(call, call.output(1), output_dims(call, 0), "Indices");
    if (call.output(1).element_type != plugin::kI64)
      return refuse_model(call, "Indices must be i64");
  }
  if (!status.is_ok()) return status;
  constexpr auto kPooled = kFloats + Types<std::uint8_t, std::int8_t>();
  return dispatch(kPooled, call.input(0).element_type, [&]<typename T>() {
    max_pool<T>(call, window);
    return plugin::ok();
  });
}

/// Pools in doubles: `fold(sum, value)` over the elements, `finish(sum, elements, taps)` where taps
/// counts padding too.
template <typename Fold, typename Finish>
Status run_fold(const Call& call, const Fold& fold, const Finish& finish) {
  Window window;
  Status status = make_pool(call, &window);
  if (!status.is_ok()) return status;
  const std::vector<double> x = read_doubles(call.input(0));
  if (x.size() != index(size_of(input_dims(call, 0))))
    return refuse_model(call, "unknown element type");
  std::vector<double> y(index(size_of(output_dims(call, 0))));
  const std::int64_t size = window.image_size();
  for_each_window(window, num_channels(call), [&](auto c, auto w, const auto* taps, auto step) {
    double sum = 0;
    std::int64_t elements = 0;
    std::int64_t padded = 0;
    for (std::int64_t t = 0; t < window.num_taps(); ++t) {
      const std::int64_t at = taps[t * step];
      if (at >= 0) sum = fold(sum, x[index(c * size + at)]);
      elements += at >= 0 ? 1 : 0;
      // Taps behind the padding are where a window of ceil_mode juts out; they never count.
      padded += at != kBeyondPadding ? 1 : 0;
    }
    y[index(c * window.num_windows() + w)] = finish(sum, elements, padded);
  });
  return write_doubles(call, 0, y);
}

Status run_average_pool(const Call& call) {
  const bool counts_padding = call.attributes().get_int("count_include_pad") != 0;
  return run_fold(
      call, [](double sum, double x) { return sum + x; },
      [&](double sum, std::int64_t elements, std::int64_t padded) {
        const std::int64_t count = counts_padding ? padded : elements;
        return count == 0 ? 0.0 : sum / static_cast<double>(count);
      });
}

Status run_lp_pool(const Call& call) {
  const auto p = static_cast<double>(call.attributes().get_int("p", 2));
  if (p < 1) return refuse_model(call, "p must be at least 1");
  return run_fold(
      call, [&](double sum, double x) { return sum + std::pow(std::fabs(x), p); },
      [&](double sum, auto, auto) { return std::pow(sum, 1 / p); });
}

/// `pool(elements of one channel)` for each channel of [N, C, image...].
template <typename Pool>
Status run_global(const Call& call, const Pool& pool) {
  const Dims dims = input_dims(call, 0);
  if (dims.size() < 2) return refuse(call, "the input has no channels");
  const std::vector<double> x = read_doubles(call.input(0));
  if (x.size() != index(size_of(dims))) return refuse_model(call, "unknown element type");
  const std::size_t size = index(size_of(dims.subspan(2)));
  std::vector<double> y;
  for (std::int64_t c = 0; c < dims[0] * dims[1]; ++c) {
    y.push_back(pool(std::span(x).subspan(index(c) * size, size)));
  }
  return write_doubles(call, 0, y);
}

Status run_global_average_pool(const Call& call) {
  return run_global(call, [](std::span<const double> x) {
    double sum = 0;
    for (const double value : x) sum += value;
    return sum / static_cast<double>(x.size());
  });
}

Status run_global_max_pool(const Call& call) {
  return run_global(call, [](std::span<const double> x) {
    double best = -std::numeric_limits<double>::infinity();
    for (const double value : x) best = largest(best, value);
    return best;
  });
}

Status run_global_lp_pool(const Call& call) {
  const auto p = static_cast<double>(call.attributes().get_int("p", 2));
  if (p < 1) return refuse_model(call, "p must be at least 1");
  return run_global(call, [&](std::span<const double> x) {
    double sum = 0;
    for (const double value : x) sum += std::pow(std::fabs(value), p);
    return std::pow(sum, 1 / p);
  });
}

/// Dimensions of the smallest output that undoes the pooling: what indices count in.
std::vector<std::int64_t> unpooled_dims(const Call& call, const Window& window) {
  const Dims x = input_dims(call, 0);
  std::vector<std::int64_t> dims = {x[0], x[1]};
  for (std::size_t d = 0; d < window.windows.size(); ++d) {
    dims.push_back((window.windows[d] - 1) * window.strides[d] + window.kernel[d] -
                   window.pads_before[d] - window.pads_after[d]);
  }
  return dims;
}

/// Converts a position in `from` to a position in `to`; -1 if it is outside one of them.
std::int64_t move_position(std::int64_t position, Dims from, Dims to) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (std::size_t d = from.size(); d-- > 0;) {
    if (from[d] < 1 || position < 0) return -1;
    const std::int64_t at = position % from[d];
    if (at >= to[d]) return -1;
    result += at * stride;
    stride *= to[d];
    position /= from[d];
  }
  return position == 0 ? result : -1;
}

Status run_max_unpool(const Call& call) {
  const Dims x_dims = input_dims(call, 0);
  const Dims y_dims = output_dims(call, 0);
  const std::vector<double> x = read_doubles(call.input(0));
  const std::vector<std::int64_t> indices = read_ints(call.input(1));
  if (x_dims.size() < 3 || y_dims.size() != x_dims.size() || x.size() != indices.size()) {
    return refuse(call, "X, I and the output do not fit");
  }
  Window window;
  const auto kernel = call.attributes().get_ints("kernel_shape");
  const Status status = make_window(call, kernel, x_dims.subspan(2), y_dims.subspan(2), &window);
  if (!status.is_ok()) return status;
  const std::vector<std::int64_t> pooled = unpooled_dims(call, window);
  std::vector<double> y(index(size_of(y_dims)), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t target = move_position(indices[i], pooled, y_dims);
    if (target < 0) {
      return {SLUICE_OUT_OF_RANGE, "index " + std::to_string(indices[i]) +
                                       " is outside the output " + plugin::to_string(y_dims)};
    }
    y[index(target)] = x[i];
  }
  return write_doubles(call, 0, y);
}

}  // namespace

std::vector<KernelEntry> pool_kernels() {
  return {{.kind = "MaxPool", .run = run_max_pool},
          {.kind = "AveragePool", .run = run_average_pool},
          {.kind = "LpPool", .run = run_lp_pool},
          {.kind = "GlobalAveragePool", .run = run_global_average_pool},
          {.kind = "GlobalMaxPool", .run = run_global_max_pool},
          {.kind = "GlobalLpPool", .run = run_global_lp_pool},
          {.kind = "MaxUnpool", .run = run_max_unpool}};
}

}  // namespace sluice::reference
