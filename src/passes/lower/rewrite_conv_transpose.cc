// y = ConvTranspose(x, w) with stride s has, along an axis, y[q * s + r] = sum_j x[q - j] w[j * s +
// r]. For each of the s remainders r that is a convolution of x whose kernel is every s-th tap of
// w, turned round. One convolution computes them all as channels; they are then moved to their
// places.
#include <algorithm>
#include <string>
#include <utility>

#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

/// A spatial axis.
struct SubPixelAxis {
  std::int64_t length = 0;  ///< of the input
  std::int64_t taps = 0;    ///< of the transposed kernel
  std::int64_t stride = 1;
  std::int64_t cut_begin = 0;  ///< outputs dropped in front
  std::int64_t result = 0;     ///< length of the output
  std::int64_t kernel = 0;     ///< taps of the convolution
  std::int64_t pad_begin = 0;  ///< of the convolution
  std::int64_t pad_end = 0;

  /// Steps of the convolution.
  std::int64_t steps() const { return length + pad_begin + pad_end - kernel + 1; }
};

struct SubPixelConv {
  std::int64_t batch = 0, group = 1, in_channels = 0, out_channels = 0;  ///< channels of all groups
  std::vector<SubPixelAxis> axes;

  std::int64_t places() const {
    std::int64_t count = 1;
    for (const SubPixelAxis& axis : axes) count *= axis.stride;
    return count;
  }
};

Ints ints_of(const ops::Lowering& op, std::string_view name, std::size_t count,
             std::int64_t value) {
  Ints ints = op.operation().attributes.get_or<Ints>(std::string(name), {});
  return ints.empty() ? Ints(count, value) : ints;
}

Result<SubPixelConv> read_shape(const ops::Lowering& op) {
  const std::size_t rank = SLUICE_TRY(op.rank(0));
  const std::size_t spatial = rank - 2;
  const Ints strides = ints_of(op, "strides", spatial, 1);
  const Ints dilations = ints_of(op, "dilations", spatial, 1);
  const Ints pads = ints_of(op, "pads", 2 * spatial, 0);
  const Ints extra = ints_of(op, "output_padding", spatial, 0);
  const auto automatic = op.operation().attributes.get_or<std::string>("auto_pad", "NOTSET");
  const bool is_plain = std::ranges::all_of(dilations, [](auto d) { return d == 1; });
  if ((rank != 3 && rank != 4) || automatic != "NOTSET" || !is_plain ||
      op.operation().attributes.contains("output_shape") || strides.size() != spatial ||
      pads.size() != 2 * spatial || extra.size() != spatial) {
    return unimplemented("dilation or another padding");
  }
  SubPixelConv conv = {
      SLUICE_TRY(op.dim(0, 0)), op.int_of("group", 1), SLUICE_TRY(op.dim(0, 1)), 0, {}};
  conv.out_channels = SLUICE_TRY(op.dim(1, 1)) * conv.group;
  for (std::size_t i = 0; i < spatial; ++i) {
    SubPixelAxis axis = {SLUICE_TRY(op.dim(0, i + 2)), SLUICE_TRY(op.dim(1, i + 2)), strides[i],
                         pads[i]};
    axis.result =
        (axis.length - 1) * axis.stride + axis.taps - pads[i] - pads[i + spatial] + extra[i];
    if (axis.length < 1 || axis.result < 1 || axis.stride < 1 || axis.cut_begin < 0 ||
        axis.taps < 1) {
      return unimplemented("an empty or growing result");
    }
    // Taps that exist are then at least half of the convolution's, along each axis.
    if (axis.stride / 2 > axis.taps) return unimplemented("strides that skip most places");
    axis.kernel = (axis.taps + axis.stride - 1) / axis.stride;
    const std::int64_t inputs = (axis.cut_begin + axis.result + axis.stride - 1) / axis.stride;
    axis.pad_end = std::max<std::int64_t>(0, inputs - axis.length);
    const std::int64_t skipped = std::min(axis.cut_begin / axis.stride, axis.kernel - 1);
    axis.pad_begin = axis.kernel - 1 - skipped;
    axis.cut_begin -= skipped * axis.stride;
    conv.axes.push_back(axis);
  }
  return conv;
}

/// Weights [C, M / group, taps...] as [M * places, C / group, kernel...].
class SubPixelWeights {
 public:
  SubPixelWeights(const SubPixelConv& conv, const std::vector<double>& from)
      : conv_(conv), from_(from) {}

  std::vector<float> all() const {
    std::vector<float> to;
    const std::int64_t out = conv_.out_channels / conv_.group;
    const std::int64_t in = conv_.in_channels / conv_.group;
    for (std::int64_t m = 0; m < conv_.out_channels; ++m) {
      for (std::int64_t place = 0; place < conv_.places(); ++place) {
        for (std::int64_t c = 0; c < in; ++c) {
          const std::int64_t channel = m / out * in + c;
          add_kernel((channel * out + m % out), place, &to);
        }
      }
    }
    return to;
  }

 private:
  /// The taps of one kernel of `from` that belong to one place, turned round.
  void add_kernel(std::int64_t kernel, std::int64_t place, std::vector<float>* to) const {
    const SubPixelAxis& last = conv_.axes.back();
    const SubPixelAxis first =
        conv_.axes.size() == 2 ? conv_.axes[0] : SubPixelAxis{1, 1, 1, 0, 1, 1, 0, 0};
    for (std::int64_t m = 0; m < first.kernel; ++m) {
      const std::int64_t row = (first.kernel - 1 - m) * first.stride + place / last.stride;
      for (std::int64_t n = 0; n < last.kernel; ++n) {
        const std::int64_t column = (last.kernel - 1 - n) * last.stride + place % last.stride;
        const bool exists = row < first.taps && column < last.taps;
        const std::int64_t at = (kernel * first.taps + row) * last.taps + column;
        to->push_back(exists ? static_cast<float>(from_[static_cast<std::size_t>(at)]) : 0.0F);
      }
    }
  }

  const SubPixelConv& conv_;
  const std::vector<double>& from_;
};

/// Each bias once per place.
std::vector<float> repeated_bias(const std::vector<double>& bias, std::int64_t places) {
  std::vector<float> repeated;
  for (const double value : bias) {
    repeated.insert(repeated.end(), static_cast<std::size_t>(places), static_cast<float>(value));
  }
  return repeated;
}

Result<OperandId> convolved(ops::Lowering& op, const SubPixelConv& conv) {
  const ir::Constant* weights = op.find_constant(1);
  const ir::Constant* bias = op.find_constant(2);
  if (weights == nullptr || (op.has(2) && bias == nullptr) ||
      weights->type.element() != ir::ElementType::kF32) {
    return unimplemented("weights at run time");
  }
  const std::int64_t channels = conv.out_channels * conv.places();
  const std::vector<double> values = *ir::float_values(*weights);
  const auto biases = bias != nullptr ? ir::float_values(*bias) : std::nullopt;
  ir::Shape shape = {channels, conv.in_channels / conv.group};
  Ints kernel, pads, pads_end;
  for (const SubPixelAxis& axis : conv.axes) {
    shape.emplace_back(axis.kernel);
    kernel.push_back(axis.kernel);
    pads.push_back(axis.pad_begin);
    pads_end.push_back(axis.pad_end);
  }
  pads.insert(pads.end(), pads_end.begin(), pads_end.end());
  ops::Lowering::Inputs inputs = {
      op.input(0),
      op.constant(ir::make_f32_constant(SubPixelWeights(conv, values).all(), std::move(shape)))};
  if (biases) {
    const std::vector<float> repeated = repeated_bias(*biases, conv.places());
    inputs.push_back(op.constant(ir::make_f32_constant(repeated, {channels})));
  }
  return op.emit("Conv", std::move(inputs),
                 {{"group", conv.group}, {"kernel_shape", kernel}, {"pads", pads}});
}

}  // namespace

Status rewrite_conv_transpose(ops::Lowering& op) {
  const SubPixelConv conv = SLUICE_TRY(read_shape(op));
  OperandId y = SLUICE_TRY(convolved(op, conv));
  Ints split = {conv.batch, conv.out_channels};
  Ints perm = {0, 1};
  Ints joined = split;
  Ints begins, ends, axes;
  bool is_cut = false;
  const auto spatial = static_cast<std::int64_t>(conv.axes.size());
  for (const SubPixelAxis& axis : conv.axes) split.push_back(axis.stride);
  for (std::int64_t i = 0; i < spatial; ++i) {
    const SubPixelAxis& axis = conv.axes[static_cast<std::size_t>(i)];
    split.push_back(axis.steps());
    perm.insert(perm.end(), {2 + spatial + i, 2 + i});
    joined.push_back(axis.steps() * axis.stride);
    is_cut = is_cut || axis.cut_begin > 0 || axis.result < joined.back();
    begins.push_back(axis.cut_begin);
    ends.push_back(axis.cut_begin + axis.result);
    axes.push_back(2 + i);
  }
  if (conv.places() > 1) {
    y = SLUICE_TRY(op.emit("Reshape", {y, op.ints(split)}));
    y = SLUICE_TRY(op.emit("Transpose", {y}, {{"perm", perm}}));
    if (!is_cut) return op.finish("Reshape", {y, op.ints(joined)});
    y = SLUICE_TRY(op.emit("Reshape", {y, op.ints(joined)}));
  }
  if (!is_cut) return op.finish("Identity", {y});
  return op.finish("Slice", {y, op.ints(begins), op.ints(ends), op.ints(axes)});
}

}  // namespace sluice::passes
