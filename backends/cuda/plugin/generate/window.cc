// Convolutions as products of tiles, and pooling: a thread per element of the output walks over its
// window, as it does for groups of few channels.

#include <algorithm>
#include <cstdlib>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/tactic.h"
#include "plugin/generate/tiles/convolution.h"
#include "plugin/generate/tiles/tile_kernel.h"

namespace sluice::cuda {
namespace {

constexpr unsigned kThreads = 128;

constexpr const char* kKinds[] = {"AveragePool", "Conv", "MaxPool", nullptr};

// The tactic of a convolution without tiles.
constexpr const char* kByElements = "thread-per-element";

// Coordinates of a window are 32-bit numbers in the kernel: limits keep them, and its loops, small.
constexpr std::int64_t kMaxStep = std::int64_t{1} << 20;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;
constexpr std::int64_t kMaxTaps = std::int64_t{1} << 20;

using Axis = WindowAxis;

bool is_conv(const sluice_op& op) { return std::string_view(op.kind) == "Conv"; }
bool is_max(const sluice_op& op) { return std::string_view(op.kind) == "MaxPool"; }

std::int64_t at(std::span<const std::int64_t> values, std::size_t index, std::int64_t fallback) {
  return index < values.size() ? values[index] : fallback;
}

std::vector<Axis> axes_of(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const auto kernel = attributes.get_ints("kernel_shape");
  const Dims window = is_conv(op) ? plugin::dims_of(op.inputs[1].tensor).subspan(2) : kernel;
  std::vector<Axis> axes;
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    axes.push_back({x[i + 2], y[i + 2], at(window, i, 1), at(attributes.get_ints("strides"), i, 1),
                    at(attributes.get_ints("dilations"), i, 1),
                    at(attributes.get_ints("pads"), i, 0)});
  }
  return axes;
}

/// Whether the loops of a kernel reach over the window.
bool is_small(const std::vector<Axis>& axes) {
  std::int64_t taps = 1;
  for (const Axis& axis : axes) {
    const auto [smallest, largest] =
        std::minmax({axis.stride, axis.dilation, axis.pad, axis.kernel});
    if (smallest < -kMaxStep || largest > kMaxStep ||
        std::max(axis.input, axis.output) > kMaxExtent) {
      return false;
    }
    taps *= std::max<std::int64_t>(axis.kernel, 1);
    if (taps > kMaxTaps) return false;
    // kernel * dilation is at most 2^40 here; the last coordinate must be a 32-bit number.
    if (axis.dilation * axis.kernel > INT32_MAX / 4) return false;
    if (axis.output * axis.stride > INT32_MAX / 4) return false;
  }
  return true;
}

/// The output's extents are those that the attributes give.
bool extents_fit(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const auto pads = attributes.get_ints("pads");
  const std::vector<Axis> axes = axes_of(op);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    const std::int64_t pad_end = at(pads, axes.size() + i, 0);
    if (axis.stride < 1 || axis.dilation < 1 || std::abs(pad_end) > kMaxStep) return false;
    if (axis.input < 0 || axis.output < 0 || axis.kernel < 0) continue;
    const std::int64_t room =
        axis.input + axis.pad + pad_end - axis.dilation * (axis.kernel - 1) - 1;
    const std::int64_t extra = attributes.get_int("ceil_mode") != 0 ? 1 : 0;
    const std::int64_t steps = room < 0 ? -1 : room / axis.stride;
    if (axis.output != steps + 1 && axis.output != steps + 1 + extra) return false;
  }
  return true;
}

bool channels_fit(const sluice_op& op) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  if (!agree(x[0], y[0])) return false;
  if (!is_conv(op)) return agree(x[1], y[1]);
  const Dims w = plugin::dims_of(op.inputs[1].tensor);
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  if (groups < 1 || w[1] < 0 || w[0] % groups != 0) return false;
  const bool has_bias = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  const Dims bias = has_bias ? plugin::dims_of(op.inputs[2].tensor) : Dims();
  return agree(x[1], w[1] * groups) && agree(y[1], w[0]) &&
         (!has_bias || (bias.size() == 1 && agree(bias[0], w[0])));
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, op.num_inputs); !status.is_ok()) return status;
  const plugin::Attributes attributes(op);
  const std::string_view padding = attributes.get_text("auto_pad", "NOTSET");
  const bool counts_pads = attributes.get_int("count_include_pad") != 0;
  if (padding != "NOTSET" && padding != "") {
    return plugin::unimplemented(plugin::kind_of(op) + ": padding is given in numbers only");
  }
  if (attributes.get_int("ceil_mode") != 0 && counts_pads) {
    return plugin::unimplemented(plugin::kind_of(op) + ": ceil_mode with counted padding");
  }
  if (attributes.get_int("storage_order") != 0) {
    return plugin::unimplemented(plugin::kind_of(op) + ": storage_order");
  }
  const std::int32_t rank = op.inputs[0].tensor.rank;
  const bool ranks_fit = rank >= 3 && op.outputs[0].tensor.rank == rank &&
                         (!is_conv(op) || (op.num_inputs >= 2 && op.inputs[1].tensor.rank == rank));
  if (!ranks_fit || !channels_fit(op)) return shapes_disagree(op);
  if (!is_small(axes_of(op))) {
    return plugin::unimplemented(plugin::kind_of(op) +
                                 ": the window, its steps or the image are too large");
  }
  return extents_fit(op) ? plugin::ok() : shapes_disagree(op);
}

std::string number(std::int64_t value) { return std::to_string(value); }

/// The row-major offset of a position, with one more axis.
std::string inner_offset(const std::string& outer, std::int64_t extent, const std::string& place) {
  return "(" + outer + ") * " + number(extent) + " + " + place;
}

/// Loops over the window up to the body; `p` is the offset within the image, `k` within the kernel.
std::string open_loops(const std::vector<Axis>& axes) {
  std::string text;
  std::int64_t below = 1;
  for (const Axis& axis : axes) below *= axis.output;
  std::string image = "Index(0)";
  std::string kernel = "0";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    const std::string n = number(static_cast<std::int64_t>(i));
    below /= axis.output;
    text += fill(
        "  for (int k$0 = 0; k$0 < $1; ++k$0) {\n  const int p$0 = int(i / $2 % $3) * $4 - $5 + "
        "k$0 "
        "* $6;\n  if (p$0 < 0 || p$0 >= $7) continue;\n",
        {n, number(axis.kernel), number(below), number(axis.output), number(axis.stride),
         number(axis.pad), number(axis.dilation), number(axis.input)});
    // An image may have more elements than an int counts, though no axis has.
    image = inner_offset(image, axis.input, std::string("Index(p").append(n).append(")"));
    kernel = inner_offset(kernel, axis.kernel, std::string("k").append(n));
  }
  return text + "  const Index p = " + image + ";\n  const Index k = " + kernel + ";\n";
}

std::string close_loops(const std::vector<Axis>& axes) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) text += "  }\n";
  return text;
}

/// Statements that leave the result in `sum`.
std::string write_conv(const sluice_op& op, const std::vector<Axis>& axes, Parameters* parameters) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims w = plugin::dims_of(op.inputs[1].tensor);
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  const std::string image = parameters->add(0);
  const std::string weights = parameters->add(1);
  const bool has_bias = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  const std::string first = has_bias ? parameters->add(2) + "[m]" : "0.0f";
  const std::string pixels = number(plugin::num_elements(x.subspan(2)));
  const std::string taps = number(plugin::num_elements(w.subspan(2)));
  const std::string outputs =
      number(plugin::num_elements(plugin::dims_of(op.outputs[0].tensor).subspan(2)));
  return "  const Index m = i / " + outputs + " % " + number(w[0]) + ";\n  const Index n = i / " +
         outputs + " / " + number(w[0]) + ";\n  float sum = " + first +
         ";\n  for (Index c = 0; c < " + number(w[1]) + "; ++c) {\n  const auto* image = " + image +
         " + (n * " + number(x[1]) + " + m / " + number(w[0] / groups) + " * " + number(w[1]) +
         " + c) * " + pixels + ";\n  const auto* weights = " + weights + " + (m * " + number(w[1]) +
         " + c) * " + taps + ";\n" + open_loops(axes) + "  sum += image[p] * weights[k];\n" +
         close_loops(axes) + "  }\n";
}

std::string write_pool(const sluice_op& op, const std::vector<Axis>& axes, Parameters* parameters) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  std::int64_t taps = 1;
  for (const Axis& axis : axes) taps *= axis.kernel;
  const bool counts_pads = plugin::Attributes(op).get_int("count_include_pad") != 0;
  std::string text = "  const auto* image = " + parameters->add(0) + " + i / " +
                     number(plugin::num_elements(y.subspan(2))) + " * " +
                     number(plugin::num_elements(x.subspan(2))) +
                     ";\n  float sum = " + (is_max(op) ? "__int_as_float(0xff800000)" : "0.0f") +
                     ";\n  int count = 0;\n" + open_loops(axes) + "  const float v = image[p];\n" +
                     (is_max(op) ? "  sum = sum < v || v != v ? v : sum;\n" : "  sum += v;\n") +
                     "  ++count;\n  (void)k;\n" + close_loops(axes);
  if (!is_max(op))
    text += "  sum /= " + (counts_pads ? number(taps) + ".0f" : "float(count)") + ";\n";
  return text;
}

Status write(const sluice_op& op, Source* source) {
  const std::vector<Axis> axes = axes_of(op);
  Product product;
  Finish finish;
  const bool is_chosen = is_conv(op) && tactic_of(op) == kByElements;
  source->is_chosen = source->is_chosen || is_chosen;
  if (is_conv(op) && !is_chosen && convolution_product(op, axes, &product, &finish)) {
    return write_product(op, product, finish, source);
  }
  Parameters parameters(op);
  const std::string sum =
      is_conv(op) ? write_conv(op, axes, &parameters) : write_pool(op, axes, &parameters);
  const std::int64_t largest = plugin::num_elements(op.inputs[0].tensor);
  return write_kernel(op, std::move(parameters), {"sum", sum, kThreads, largest}, source);
}

std::vector<std::string> tactics(const sluice_op& op) {
  if (!is_conv(op)) return {};
  std::vector<std::string> names = product_tactics(op);
  names.emplace_back(kByElements);
  return names;
}

}  // namespace

const Family kWindowFamily = {kKinds, check, write, tactics};

}  // namespace sluice::cuda
