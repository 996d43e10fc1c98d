// DeformConv: a convolution whose taps are moved by offsets and weighted by a mask.
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/conv/window.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

/// Two spatial axes. Channels are divided into groups for the weights, and into offset groups that
/// share their offsets.
struct Deformable {
  Window window;
  std::int64_t batch = 0, channels = 0, outputs = 0, groups = 1, offset_groups = 1;
  Doubles x, w, offset, mask;
};

/// Offsets [N, offset_groups * taps * 2, windows...], mask [N, offset_groups * taps, windows...].
Status check_side_inputs(const Call& call, const Deformable& conv) {
  const std::int64_t taps = conv.window.num_taps() * conv.offset_groups;
  const std::vector<std::int64_t>& windows = conv.window.windows;
  const std::array offset_dims = {conv.batch, 2 * taps, windows[0], windows[1]};
  Status status = check_dims(call, call.input(2), offset_dims, "offset");
  if (status.is_ok() && call.has_input(3)) {
    status = check_dims(call, call.input(3), std::array{conv.outputs}, "bias");
  }
  if (status.is_ok() && call.has_input(4)) {
    const std::array mask_dims = {conv.batch, taps, windows[0], windows[1]};
    status = check_dims(call, call.input(4), mask_dims, "mask");
  }
  return status;
}

Status make_deformable(const Call& call, Deformable* conv) {
  const Dims x = input_dims(call, 0);
  const Dims w = input_dims(call, 1);
  const Dims y = output_dims(call, 0);
  conv->groups = call.attributes().get_int("group", 1);
  conv->offset_groups = call.attributes().get_int("offset_group", 1);
  const bool is_fit = x.size() == 4 && w.size() == 4 && y.size() == 4 && conv->groups >= 1 &&
                      conv->offset_groups >= 1 && x[1] % conv->groups == 0 &&
                      x[1] / conv->groups == w[1] && w[0] % conv->groups == 0 &&
                      x[1] % conv->offset_groups == 0 && y[0] == x[0] && y[1] == w[0];
  if (!is_fit)
    return refuse(call, "data, weights and output do not fit; it takes images [N,C,H,W]");
  conv->batch = x[0];
  conv->channels = x[1];
  conv->outputs = w[0];
  Status status = make_window(call, w.subspan(2), y.subspan(2), x.subspan(2), &conv->window);
  if (status.is_ok()) status = check_side_inputs(call, *conv);
  if (status.is_ok()) status = check_types(call, call.input(0).element_type);
  if (status.is_ok() && !contains(kFloats, call.input(0).element_type)) {
    status = refuse_model(call, "it takes floats");
  }
  conv->x = read_doubles(call.input(0));
  conv->w = read_doubles(call.input(1));
  conv->offset = read_doubles(call.input(2));
  conv->mask = read_doubles(call.input(4));
  return status;
}

/// One channel at a point between pixels; what is outside counts as 0.
double interpolate(const double* plane, std::int64_t height, std::int64_t width, double y,
                   double x) {
  if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width))) {
    return 0;
  }
  double sum = 0;
  for (const double row : {std::floor(y), std::floor(y) + 1}) {
    for (const double column : {std::floor(x), std::floor(x) + 1}) {
      const auto h = static_cast<std::int64_t>(row);
      const auto w = static_cast<std::int64_t>(column);
      if (h < 0 || h >= height || w < 0 || w >= width) continue;
      sum += (1 - std::fabs(y - row)) * (1 - std::fabs(x - column)) * plane[h * width + w];
    }
  }
  return sum;
}

/// The image element that tap `tap` of window `at` meets in one channel, moved and weighted.
double tapped(const Deformable& conv, std::int64_t n, std::int64_t channel, std::int64_t tap,
              std::int64_t at) {
  const Window& window = conv.window;
  const std::int64_t windows = window.num_windows();
  const std::int64_t taps = window.num_taps();
  const std::int64_t group = channel / (conv.channels / conv.offset_groups);
  const std::int64_t which = (n * conv.offset_groups + group) * taps + tap;
  // Offsets come in pairs along their channels: down, then right.
  const double down = conv.offset[index(2 * which * windows + at)];
  const double over = conv.offset[index((2 * which + 1) * windows + at)];
  const std::int64_t row = at / window.windows[1] * window.strides[0] - window.pads_before[0] +
                           tap / window.kernel[1] * window.dilations[0];
  const std::int64_t column = at % window.windows[1] * window.strides[1] - window.pads_before[1] +
                              tap % window.kernel[1] * window.dilations[1];
  const double* plane = conv.x.data() + (n * conv.channels + channel) * window.image_size();
  const double value =
      interpolate(plane, window.image[0], window.image[1], static_cast<double>(row) + down,
                  static_cast<double>(column) + over);
  return conv.mask.empty() ? value : value * conv.mask[index(which * windows + at)];
}

Status run_deform_conv(const Call& call) {
  Deformable conv;
  if (Status status = make_deformable(call, &conv); !status.is_ok()) return status;
  const Doubles bias = read_doubles(call.input(3));
  const std::int64_t windows = conv.window.num_windows();
  const std::int64_t taps = conv.window.num_taps();
  const std::int64_t group_inputs = conv.channels / conv.groups;
  const std::int64_t group_outputs = conv.outputs / conv.groups;
  Doubles y(index(conv.batch * conv.outputs * windows), 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) % windows;
    const std::int64_t m = static_cast<std::int64_t>(i) / windows % conv.outputs;
    const std::int64_t n = static_cast<std::int64_t>(i) / windows / conv.outputs;
    if (!bias.empty()) y[i] = bias[index(m)];
    for (std::int64_t c = 0; c < group_inputs; ++c) {
      const std::int64_t channel = m / group_outputs * group_inputs + c;
      for (std::int64_t t = 0; t < taps; ++t) {
        y[i] += conv.w[index((m * group_inputs + c) * taps + t)] * tapped(conv, n, channel, t, at);
      }
    }
  }
  return write_doubles(call, 0, y);
}

}  // namespace

std::vector<KernelEntry> deform_conv_kernels() {
  return {{.kind = "DeformConv", .run = run_deform_conv}};
}

}  // namespace sluice::reference
