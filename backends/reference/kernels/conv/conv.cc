// Conv, ConvInteger, QLinearConv and Sluice's QuantizedConv: columns of the image under the
// windows, times the weights.
#include <cmath>
#include <limits>

#include "reference/families.h"
#include "reference/kernels/conv/window.h"
#include "reference/kernels/matrix/product.h"
#include "reference/kernels/matrix/quantization.h"

namespace sluice::reference {
namespace {

constexpr int kNoZeroPoint = -1;  ///< no input

struct Convolution {
  Window window;
  std::int64_t batch = 0, groups = 1;
  std::int64_t group_inputs = 0, group_outputs = 0;  ///< channels per group
};

/// Data [N, C, image...], weights [M, C/groups, kernel...], output [N, M, windows...].
Status make_convolution(const Call& call, int data, int weights, Convolution* conv) {
  const Dims x = input_dims(call, data);
  const Dims w = input_dims(call, weights);
  const Dims y = output_dims(call, 0);
  conv->groups = call.attributes().get_int("group", 1);
  const bool is_fit = x.size() >= 3 && w.size() == x.size() && y.size() == x.size() &&
                      conv->groups >= 1 && w[0] % conv->groups == 0 && x[1] % conv->groups == 0 &&
                      x[1] / conv->groups == w[1] && y[0] == x[0] && y[1] == w[0];
  if (!is_fit) {
    return refuse(call, "data " + plugin::to_string(x) + ", weights " + plugin::to_string(w) +
                            " and output " + plugin::to_string(y) + " do not fit");
  }
  conv->batch = x[0];
  conv->group_inputs = w[1];
  conv->group_outputs = w[0] / conv->groups;
  return make_window(call, w.subspan(2), y.subspan(2), x.subspan(2), &conv->window);
}

/// columns[(channel * taps + tap) * count + i] of one group; padding is 0.
template <typename T>
void gather_columns(const Convolution& conv, const T* image,
                    const std::vector<std::int64_t>& offsets, std::vector<T>* columns) {
  const std::int64_t size = conv.window.image_size();
  const auto row = static_cast<std::int64_t>(offsets.size());
  // Columns of a group: one row per channel and tap, in the order of the weights.
  columns->resize(index(conv.group_inputs * row));
  for (std::int64_t c = 0; c < conv.group_inputs; ++c) {
    T* target = columns->data() + c * row;
    for (std::int64_t i = 0; i < row; ++i) {
      const std::int64_t offset = offsets[index(i)];
      target[i] = offset < 0 ? T(0) : image[c * size + offset];
    }
  }
}

/// Adds to `y`, which holds the bias.
template <typename T>
void convolve(const Convolution& conv, std::span<const T> x, std::span<const T> w,
              std::vector<T>& y) {
  const std::int64_t windows = conv.window.num_windows();
  const std::int64_t depth = conv.group_inputs * conv.window.num_taps();
  const std::int64_t size = conv.window.image_size();
  std::vector<std::int64_t> offsets;
  std::vector<T> columns;
  // A part of the windows at a time bounds the columns, which else were taps times the image.
  for (std::int64_t first = 0; first < windows; first += kWindowsAtOnce) {
    const std::int64_t count = std::min(kWindowsAtOnce, windows - first);
    window_offsets(conv.window, first, count, &offsets);
    for (std::int64_t ng = 0; ng < conv.batch * conv.groups; ++ng) {
      const std::int64_t g = ng % conv.groups;
      gather_columns(conv, x.data() + ng * conv.group_inputs * size, offsets, &columns);
      add_product(conv.group_outputs, count, depth, w.data() + g * conv.group_outputs * depth,
                  depth, columns.data(), count,
                  y.data() + ng * conv.group_outputs * windows + first, windows);
    }
  }
}

/// One value per output channel, or none, over the whole output.
template <typename T>
std::vector<T> spread_bias(const Convolution& conv, std::span<const T> bias) {
  const std::int64_t channels = conv.groups * conv.group_outputs;
  const std::int64_t windows = conv.window.num_windows();
  std::vector<T> y(index(conv.batch * channels * windows), T(0));
  if (bias.empty()) return y;
  for (std::int64_t nc = 0; nc < conv.batch * channels; ++nc) {
    std::fill_n(y.begin() + nc * windows, windows, bias[index(nc % channels)]);
  }
  return y;
}

Status check_bias(const Call& call, int bias, const Convolution& conv) {
  if (!call.has_input(bias)) return plugin::ok();
  const std::array expected = {conv.groups * conv.group_outputs};
  return check_dims(call, call.input(bias), expected, "bias");
}

Status run_conv(const Call& call) {
  Convolution conv;
  Status status = make_convolution(call, 0, 1, &conv);
  if (status.is_ok()) status = check_types(call, call.input(0).element_type);
  if (status.is_ok()) status = check_bias(call, 2, conv);
  if (!status.is_ok()) return status;
  return dispatch(kFloats, call.input(0).element_type, [&]<typename T>() {
    using V = Compute<T>;
    const Loaded<T> x(call.input(0));
    const Loaded<T> w(call.input(1));
    const Loaded<T> bias(call.input(2));
    std::vector<V> y = spread_bias<V>(conv, bias.values());
    convolve<V>(conv, x.values(), w.values(), y);
    store<T>(call.output(0), y);
    return plugin::ok();
  });
}

Status integer_convolution(const Call& call, const Convolution& conv, int x_input, int x_zero,
                           int w_input, int w_zero, std::vector<std::int32_t>& y) {
  std::vector<std::int32_t> x, w;
  Status status = read_shifted(call, x_input, x_zero, kFirstAxis, &x);
  if (status.is_ok() && call.has_input(x_zero) && size_of(input_dims(call, x_zero)) != 1) {
    status = refuse(call, "x has one zero point");
  }
  if (status.is_ok()) status = read_shifted(call, w_input, w_zero, kFirstAxis, &w);
  if (status.is_ok()) convolve<std::int32_t>(conv, x, w, y);
  return status;
}

Status run_conv_integer(const Call& call) {
  Convolution conv;
  if (Status status = make_convolution(call, 0, 1, &conv); !status.is_ok()) return status;
  if (call.output(0).element_type != plugin::kI32)
    return refuse_model(call, "the output must be i32");
  std::vector<std::int32_t> y = spread_bias<std::int32_t>(conv, {});
  const Status status = integer_convolution(call, conv, 0, 2, 1, 3, y);
  if (status.is_ok()) store<std::int32_t>(call.output(0), y);
  return status;
}

Status run_qlinear_conv(const Call& call) {
  Convolution conv;
  Status status = make_convolution(call, 0, 3, &conv);
  if (status.is_ok()) status = check_bias(call, 8, conv);
  if (!status.is_ok()) return status;
  if (call.has_input(8) && call.input(8).element_type != plugin::kI32) {
    return refuse_model(call, "the bias must be i32");
  }
  const Loaded<std::int32_t> bias(call.input(8));
  std::vector<std::int32_t> y = spread_bias<std::int32_t>(conv, bias.values());
  status = integer_convolution(call, conv, 0, 2, 3, 5, y);
  if (!status.is_ok()) return status;
  const std::vector<double> x_scale = read_doubles(call.input(1));
  const std::vector<double> w_scale = read_doubles(call.input(4));
  const std::vector<double> y_scale = read_doubles(call.input(6));
  const std::int64_t channels = conv.groups * conv.group_outputs;
  if (x_scale.size() != 1 || y_scale.size() != 1 ||
      (w_scale.size() != 1 && w_scale.size() != index(channels))) {
    return refuse(call, "scales do not fit");
  }
  // x_scale * w_scale is the unit of the sums, y_scale that of the result.
  std::vector<double> scaled(y.size());
  const std::int64_t windows = conv.window.num_windows();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t channel = i / index(windows) % index(channels);
    scaled[i] = y[i] * x_scale[0] * w_scale[w_scale.size() == 1 ? 0 : channel] / y_scale[0];
  }
  return write_quantized(call, 0, scaled, call.input(7));
}

/// The results of QuantizedConv before rounding: scaled sums plus bias and residual.
std::vector<double> quantized_values(const Call& call, const Convolution& conv,
                                     const std::vector<std::int32_t>& sums) {
  const std::vector<double> scale = read_doubles(call.input(2));
  const std::vector<double> bias = read_doubles(call.input(3));
  const std::vector<double> residual = read_doubles(call.input(4));
  const bool is_byte = call.has_input(4) && call.input(4).element_type == plugin::kU8;
  const double step = call.attributes().get_float("residual_scale", 1);
  const auto zero =
      is_byte ? static_cast<double>(call.attributes().get_int("residual_zero_point")) : 0.0;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const double low = call.attributes().get_float("own_low", -kInfinity);
  const double high = call.attributes().get_float("own_high", kInfinity);
  std::vector<double> values(sums.size());
  const std::int64_t windows = conv.window.num_windows();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t channel = i / index(windows) % scale.size();
    // fmax and fmin take the bound where the other is a NaN.
    values[i] = std::fmin(high, std::fmax(low, sums[i] * scale[channel] + bias[channel]));
    if (!residual.empty()) values[i] += step * (residual[i] - zero);
  }
  return values;
}

Status check_quantized_conv(const Call& call, const Convolution& conv) {
  for (const int input : {2, 3}) {
    if (Status status = check_bias(call, input, conv); !status.is_ok()) return status;
  }
  if (call.input(0).element_type != plugin::kU8 || call.input(1).element_type != plugin::kI8) {
    return refuse_model(call, "it takes u8 and weights of i8");
  }
  for (const int input : {2, 3, 4}) {
    const sluice_element_type type = call.input(input).element_type;
    const bool is_fit = type == plugin::kF32 || (input == 4 && (type == plugin::kU8 || type == 0));
    if (!is_fit)
      return refuse_model(call, "input " + std::to_string(input) + " is of another type");
  }
  if (!call.has_input(4)) return plugin::ok();
  return check_dims(call, call.input(4), output_dims(call, 0), "residual");
}

Status run_quantized_conv(const Call& call) {
  Convolution conv;
  Status status = make_convolution(call, 0, 1, &conv);
  if (status.is_ok()) status = check_quantized_conv(call, conv);
  if (!status.is_ok()) return status;
  const auto attributes = call.attributes();
  const auto zero = static_cast<std::int32_t>(attributes.get_int("x_zero_point"));
  std::vector<std::int32_t> x, w;
  status = read_shifted(call, 0, kNoZeroPoint, kFirstAxis, &x);
  if (status.is_ok()) status = read_shifted(call, 1, kNoZeroPoint, kFirstAxis, &w);
  if (!status.is_ok()) return status;
  for (std::int32_t& value : x) value -= zero;
  std::vector<std::int32_t> sums = spread_bias<std::int32_t>(conv, {});
  convolve<std::int32_t>(conv, x, w, sums);
  std::vector<double> values = quantized_values(call, conv, sums);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const double low = attributes.get_float("low", -kInfinity);
  const double high = attributes.get_float("high", kInfinity);
  for (double& value : values) value = std::fmin(high, std::fmax(low, value));
  if (call.output(0).element_type != plugin::kU8) return write_doubles(call, 0, values);
  const auto y_zero = static_cast<double>(attributes.get_int("y_zero_point"));
  const auto y = call.output_elements<std::uint8_t>(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<std::uint8_t>(
        std::fmin(255.0, std::fmax(0.0, std::nearbyint(values[i]) + y_zero)));
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> conv_kernels() {
  return {{.kind = "Conv", .run = run_conv},
          {.kind = "ConvInteger", .run = run_conv_integer},
          {.kind = "QLinearConv", .run = run_qlinear_conv},
          {.domain = "sluice", .kind = "QuantizedConv", .run = run_quantized_conv}};
}

}  // namespace sluice::reference
