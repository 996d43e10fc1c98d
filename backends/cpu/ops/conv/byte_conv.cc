// sluice::QuantizedConv: convolution of bytes.

#include "conv/bytes/byte_conv.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "conv/bytes/byte_depthwise.h"
#include "ops/conv/byte_conv_tactics.h"
#include "ops/conv/conv_op.h"
#include "ops/image/window.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

constexpr int kWeights = 1;
constexpr int kScale = 2;
constexpr int kBias = 3;
constexpr int kResidual = 4;

bool has_residual(const sluice_op& op) {
  return op.num_inputs > kResidual && !plugin::is_absent(op.inputs[kResidual].tensor);
}

/// The kernel writes c16 only. Row-major, the compiler asks what would be best, or nothing is.
bool has_layout(const sluice_op& op) { return op.outputs[0].tensor.layout == SLUICE_LAYOUT_C16; }

/// By a method of its own.
bool goes_by_channel(const ConvShape& shape) { return shape.groups > 1 && is_depthwise(shape); }

const char* refusal_of(const ConvShape& shape) {
  return goes_by_channel(shape) ? byte_depthwise_refusal(shape) : byte_conv_refusal(shape);
}

Status check_vector(const sluice_operand& operand, std::int64_t channels) {
  const sluice_tensor& tensor = operand.tensor;
  const bool fits = operand.is_constant != 0 && tensor.element_type == plugin::kF32 &&
                    tensor.rank == 1 && tensor.dims[0] == channels;
  return fits ? plugin::ok() : unimplemented("not a constant per channel");
}

Status check_tensors(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kU8 || x.rank < 3 || x.rank > 4) {
    return unimplemented("not an image of u8");
  }
  if (y.element_type != plugin::kU8 && y.element_type != plugin::kF32) {
    return unimplemented("the result is neither u8 nor f32");
  }
  if (!has_residual(op)) return plugin::ok();
  const sluice_tensor& r = op.inputs[kResidual].tensor;
  const bool fits = r.layout == y.layout && same_dims(r, y) &&
                    (r.element_type == plugin::kU8 || r.element_type == plugin::kF32);
  return fits ? plugin::ok() : unimplemented("the residual does not lie as the result");
}

Status check(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  if (Status status = check_tensors(op); !status.is_ok()) return status;
  const sluice_operand& weights = op.inputs[kWeights];
  if (weights.is_constant == 0 || weights.tensor.element_type != plugin::kI8 ||
      weights.tensor.rank != op.inputs[0].tensor.rank || !plugin::is_static(weights.tensor)) {
    return unimplemented("weights are not constant i8");
  }
  for (const int input : {kScale, kBias}) {
    Status status = check_vector(op.inputs[input], weights.tensor.dims[0]);
    if (!status.is_ok()) return status;
  }
  if (Status status = check_window(op, op.inputs[0].tensor.rank); !status.is_ok()) return status;
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  if (groups < 1 || groups > (1 << 24)) return unimplemented("groups out of range");
  // Checks the rest of the shape with neutral values: the extents of the image may be unknown here,
  // and the layouts may not be chosen yet.
  ConvShape shape = conv_weights_shape(op);
  shape.pad_begin = shape.pad_end = {0, 0};
  shape.stride = {1, 1};
  shape.dilation = read_window(op, shape.kernel, shape.kernel).dilation;
  shape.input = {(shape.kernel.h - 1) * shape.dilation.h + 1,
                 (shape.kernel.w - 1) * shape.dilation.w + 1};
  if (!has_layout(op)) shape.in_layout = shape.out_layout = Layout::kBlocked;
  const char* reason = refusal_of(shape);
  return reason == nullptr ? plugin::ok() : unimplemented(reason);
}

std::int64_t packed_bytes(const ConvShape& shape, Isa isa) {
  return goes_by_channel(shape) ? packed_byte_depthwise_bytes(shape)
                                : ByteConvPacking(shape, isa).bytes();
}

void pack(const ConvShape& shape, const sluice_operand& weights, Isa isa, void* packed) {
  const auto* data = static_cast<const std::int8_t*>(weights.tensor.data);
  if (goes_by_channel(shape)) {
    pack_byte_depthwise(shape, data, static_cast<float*>(packed));
  } else {
    ByteConvPacking(shape, isa).pack(data, packed);
  }
}

sluice_packing byte_conv_packing(const sluice_op& op, int input, Isa isa) {
  sluice_packing result = {};
  if (input != kWeights || !has_layout(op)) return result;
  const ConvShape shape = conv_weights_shape(op);
  result.size_bytes = packed_bytes(shape, isa);
  if (goes_by_channel(shape)) {
    std::snprintf(result.format, sizeof result.format, "byte_conv/depthwise");
    return result;
  }
  // Packed bytes depend on the panel's width and on whether the taps of a row are joined.
  const ByteConvPacking byte_conv_packing(shape, isa);
  std::snprintf(result.format, sizeof result.format, "byte_conv/%s/w%d",
                byte_conv_packing.shape.in_layout == Layout::kBlocked ? "c16" : "planes",
                static_cast<int>(byte_conv_packing.width));
  return result;
}

void pack_weights(const sluice_op& op, int /*input*/, Isa isa, void* packed) {
  pack(conv_weights_shape(op), op.inputs[kWeights], isa, packed);
}

ByteConvEpilogue read_epilogue(const sluice_op& op) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const plugin::Attributes attributes(op);
  const auto vector = [&](int input) {
    const auto* data = static_cast<const float*>(op.inputs[input].tensor.data);
    return std::vector<float>(data, data + op.inputs[input].tensor.dims[0]);
  };
  ByteConvEpilogue epilogue;
  epilogue.scales = vector(kScale);
  epilogue.biases = vector(kBias);
  epilogue.low = attributes.get_float("low", -kInfinity);
  epilogue.high = attributes.get_float("high", kInfinity);
  epilogue.own_low = attributes.get_float("own_low", -kInfinity);
  epilogue.own_high = attributes.get_float("own_high", kInfinity);
  epilogue.residual_scale = attributes.get_float("residual_scale", 1);
  if (op.outputs[0].tensor.element_type == plugin::kU8) {
    const auto zero = static_cast<std::int32_t>(attributes.get_int("y_zero_point"));
    epilogue.output_zero = zero;
    // Limit to the range of bytes: the kernel converts without saturation. NaN becomes the lowest.
    const auto lowest = static_cast<float>(-zero);
    const auto highest = static_cast<float>(255 - zero);
    epilogue.low = std::clamp(epilogue.low, lowest, highest);
    epilogue.high = std::clamp(epilogue.high, lowest, highest);
  }
  if (has_residual(op) && op.inputs[kResidual].tensor.element_type == plugin::kU8) {
    // (r - zero) * scale = r * scale - zero * scale: the last term joins the bias. The bounds of
    // the sum without the residual move along.
    const auto zero = static_cast<float>(attributes.get_int("residual_zero_point"));
    const float shift = zero * epilogue.residual_scale;
    for (float& bias : epilogue.biases) bias -= shift;
    epilogue.own_low -= shift;
    epilogue.own_high -= shift;
  }
  return epilogue;
}

std::uint8_t input_zero(const sluice_op& op) {
  return static_cast<std::uint8_t>(plugin::Attributes(op).get_int("x_zero_point"));
}

/// What both methods share: weights, and what they read and write.
class ByteKernel : public Kernel {
 public:
  ByteKernel(const sluice_op& op, const ConvShape& shape, Isa isa)
      : Kernel(op),
        shape_(shape),
        residual_is_bytes_(has_residual(op) &&
                           op.inputs[kResidual].tensor.element_type == plugin::kU8),
        writes_bytes_(op.outputs[0].tensor.element_type == plugin::kU8),
        own_(take_weights(op, shape, isa)) {}

  void extents(Extents& extents) const override {
    tell_extents(shape_, 1, writes_bytes_ ? 1 : sizeof(float), extents);
    if (has_residual(op())) {
      const std::int64_t bytes = op().outputs[0].tensor.size_bytes / (writes_bytes_ ? 1 : 4);
      extents.reads(kResidual, {bytes, residual_is_bytes_ ? 1 : 4});
    }
  }
  std::uint32_t in_place_inputs() const override {
    return has_residual(op()) && residual_is_bytes_ == writes_bytes_ ? 1U << kResidual : 0;
  }

 protected:
  const void* weights() const { return own_.empty() ? op().inputs[kWeights].packed : own_.data(); }

  ByteConvArgs args_of(const Run& run) const {
    ByteConvArgs args;
    args.input = run.input<std::uint8_t>(0);
    args.weights = weights();
    if (has_residual(op())) {
      if (residual_is_bytes_) {
        args.residual_bytes = run.input<std::uint8_t>(kResidual);
      } else {
        args.residual_floats = run.input<float>(kResidual);
      }
    }
    if (writes_bytes_) {
      args.output_bytes = run.output<std::uint8_t>(0);
    } else {
      args.output_floats = run.output<float>(0);
    }
    return args;
  }

 private:
  /// Empty where the package holds them in the right form.
  static std::vector<std::byte> take_weights(const sluice_op& op, const ConvShape& shape, Isa isa) {
    const sluice_operand& operand = op.inputs[kWeights];
    const std::int64_t bytes = packed_bytes(shape, isa);
    if (operand.packed != nullptr && operand.packed_bytes == bytes) return {};
    std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
    pack(shape, operand, isa, packed.data());
    return packed;
  }

  ConvShape shape_;
  bool residual_is_bytes_;
  bool writes_bytes_;
  std::vector<std::byte> own_;
};

class ByteConv : public ByteKernel {
 public:
  ByteConv(const sluice_op& op, const ConvShape& shape, Isa isa)
      : ByteKernel(op, shape, isa),
        plan_(plan_byte_conv(shape, read_epilogue(op), input_zero(op), isa, weights(),
                             byte_conv_blocks(op, isa))) {
    const Extent out = shape.output();
    products_ = static_cast<double>(shape.batch * out.h * out.w * plan_.packing.panels()) *
                static_cast<double>(plan_.packing.matrix_bytes());
  }

  void run(const Run& run, int, const Worker& worker) const override {
    run_byte_conv(plan_, args_of(run), worker);
  }

  std::int64_t scratch_bytes() const override { return plan_.scratch_bytes(); }
  // Products of bytes per nanosecond, about.
  double cost_ns() const override { return products_ / 250; }

 private:
  ByteConvPlan plan_;
  double products_ = 0;
};

class ByteDepthwise : public ByteKernel {
 public:
  ByteDepthwise(const sluice_op& op, const ConvShape& shape, Isa isa)
      : ByteKernel(op, shape, isa),
        plan_(plan_byte_depthwise(shape, read_epilogue(op), input_zero(op), isa)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    run_byte_depthwise(plan_, args_of(run), worker);
  }

  double cost_ns() const override {
    const ConvShape& s = plan_.shape;
    const auto pixels = static_cast<double>(s.batch * plan_.output.h * plan_.output.w);
    const auto taps = static_cast<double>(s.kernel.h * s.kernel.w);
    return pixels * static_cast<double>(s.in_channels) * (taps + 8) / 40;
  }

 private:
  ByteDepthwisePlan plan_;
};

Status make_byte_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (!has_layout(op)) return unimplemented("row-major results");
  const ConvShape shape = conv_weights_shape(op);
  const sluice_tensor& x = op.inputs[0].tensor;
  if (const char* reason = refusal_of(shape); reason != nullptr) return unimplemented(reason);
  const Extent out = spatial_extent(dims_of(op.outputs[0].tensor));
  if (x.dims[1] != shape.in_channels || out.h != shape.output().h || out.w != shape.output().w) {
    return unimplemented("operands do not fit");
  }
  const sluice_operand& weights = op.inputs[kWeights];
  if (weights.tensor.data == nullptr &&
      (weights.packed == nullptr || weights.packed_bytes != packed_bytes(shape, isa))) {
    return plugin::invalid_argument(
        "QuantizedConv: the packed weights do not fit and the originals are gone; compile the "
        "model again");
  }
  if (goes_by_channel(shape)) {
    *kernel = std::make_unique<ByteDepthwise>(op, shape, isa);
  } else {
    *kernel = std::make_unique<ByteConv>(op, shape, isa);
  }
  return plugin::ok();
}

sluice_layout byte_conv_layout(const sluice_op& /*op*/) { return SLUICE_LAYOUT_C16; }

}  // namespace

std::vector<OpEntry> byte_conv_entries() {
  return {{.domain = "sluice",
           .kind = "QuantizedConv",
           .check = check,
           .make = make_byte_conv,
           .packing = byte_conv_packing,
           .pack = pack_weights,
           .preferred_layout = byte_conv_layout,
           .tactics = list_byte_conv_tactics,
           .num_required_inputs = 4}};
}

}  // namespace sluice::cpu
