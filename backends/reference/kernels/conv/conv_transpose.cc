// ConvTranspose: every input element spreads over the outputs under its window.
#include "reference/families.h"
#include "reference/kernels/conv/window.h"

namespace sluice::reference {
namespace {

/// The window slides over the output; there is one per input element.
struct Transposed {
  Window window;
  std::int64_t batch = 0, groups = 1;
  std::int64_t group_inputs = 0, group_outputs = 0;  ///< channels per group
};

/// With output_shape or auto_pad the padding is whatever is too much, split in two.
void derive_pads(const Call& call, Window* window) {
  const std::string_view auto_pad = call.attributes().get_text("auto_pad", "NOTSET");
  const auto extra = call.attributes().get_ints("output_padding");
  const bool has_shape = !call.attributes().get_ints("output_shape").empty();
  const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!has_shape && !is_same) return;
  for (std::size_t d = 0; d < window->image.size(); ++d) {
    const std::int64_t extent = (window->kernel[d] - 1) * window->dilations[d] + 1;
    const std::int64_t full =
        (window->windows[d] - 1) * window->strides[d] + extent + (d < extra.size() ? extra[d] : 0);
    const std::int64_t total = std::max<std::int64_t>(0, full - window->image[d]);
    window->pads_before[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
}

/// Data [N, C, windows...], weights [C, M/groups, kernel...], output [N, M, image...].
Status make_transposed(const Call& call, Transposed* conv) {
  const Dims x = input_dims(call, 0);
  const Dims w = input_dims(call, 1);
  const Dims y = output_dims(call, 0);
  conv->groups = call.attributes().get_int("group", 1);
  const bool is_fit = x.size() >= 3 && w.size() == x.size() && y.size() == x.size() &&
                      conv->groups >= 1 && x[1] == w[0] && w[0] % conv->groups == 0 &&
                      y[0] == x[0] && y[1] % conv->groups == 0 && y[1] / conv->groups == w[1];
  if (!is_fit) {
    return refuse(call, "data " + plugin::to_string(x) + ", weights " + plugin::to_string(w) +
                            " and output " + plugin::to_string(y) + " do not fit");
  }
  conv->batch = x[0];
  conv->group_inputs = w[0] / conv->groups;
  conv->group_outputs = w[1];
  Status status = make_window(call, w.subspan(2), x.subspan(2), y.subspan(2), &conv->window);
  if (status.is_ok()) derive_pads(call, &conv->window);
  return status;
}

/// Adds one input channel's contribution to one output channel.
template <typename T>
void scatter(const Transposed& conv, const T* x, const T* w, std::int64_t first, std::int64_t count,
             const std::vector<std::int64_t>& offsets, T* y) {
  for (std::int64_t t = 0; t < conv.window.num_taps(); ++t) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t offset = offsets[index(t * count + i)];
      if (offset >= 0) y[offset] += x[first + i] * w[t];
    }
  }
}

template <typename T>
void convolve(const Transposed& conv, std::span<const T> x, std::span<const T> w,
              std::vector<T>& y) {
  const std::int64_t windows = conv.window.num_windows();
  const std::int64_t taps = conv.window.num_taps();
  const std::int64_t size = conv.window.image_size();
  const std::int64_t inputs = conv.group_inputs;
  const std::int64_t outputs = conv.group_outputs;
  std::vector<std::int64_t> offsets;
  for (std::int64_t first = 0; first < windows; first += kWindowsAtOnce) {
    const std::int64_t count = std::min(kWindowsAtOnce, windows - first);
    window_offsets(conv.window, first, count, &offsets);
    for (std::int64_t ng = 0; ng < conv.batch * conv.groups; ++ng) {
      const std::int64_t g = ng % conv.groups;
      for (std::int64_t m = 0; m < outputs; ++m) {
        for (std::int64_t c = 0; c < inputs; ++c) {
          scatter(conv, x.data() + (ng * inputs + c) * windows,
                  w.data() + ((g * inputs + c) * outputs + m) * taps, first, count, offsets,
                  y.data() + (ng * outputs + m) * size);
        }
      }
    }
  }
}

Status run_conv_transpose(const Call& call) {
  Transposed conv;
  Status status = make_transposed(call, &conv);
  if (status.is_ok()) status = check_types(call, call.input(0).element_type);
  const std::int64_t channels = conv.groups * conv.group_outputs;
  if (status.is_ok() && call.has_input(2)) {
    status = check_dims(call, call.input(2), std::array{channels}, "bias");
  }
  if (!status.is_ok()) return status;
  return dispatch(kFloats, call.input(0).element_type, [&]<typename T>() {
    using V = Compute<T>;
    const Loaded<T> x(call.input(0));
    const Loaded<T> w(call.input(1));
    const Loaded<T> bias(call.input(2));
    const std::int64_t size = conv.window.image_size();
    std::vector<V> y(index(conv.batch * channels * size), V(0));
    for (std::size_t i = 0; i < y.size() && !bias.values().empty(); ++i) {
      y[i] = bias.values()[i / index(size) % index(channels)];
    }
    convolve<V>(conv, x.values(), w.values(), y);
    store<T>(call.output(0), y);
    return plugin::ok();
  });
}

}  // namespace

std::vector<KernelEntry> conv_transpose_kernels() {
  return {{.kind = "ConvTranspose", .run = run_conv_transpose}};
}

}  // namespace sluice::reference
