#include "ops/conv/conv_op.h"

#include <algorithm>
#include <utility>

#include "ops/elementwise/elementwise.h"
#include "ops/image/window.h"
#include "ops/operands/blocked.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

Status check_weights(const sluice_op& op) {
  const sluice_operand& weights = op.inputs[1];
  if (weights.is_constant == 0) return unimplemented("weights are not constant");
  if (weights.tensor.element_type != plugin::kF32 ||
      weights.tensor.rank != op.inputs[0].tensor.rank || !plugin::is_static(weights.tensor)) {
    return unimplemented("weights of another type or rank");
  }
  if (op.num_inputs < 3 || plugin::is_absent(op.inputs[2].tensor)) return plugin::ok();
  const sluice_operand& bias = op.inputs[2];
  if (bias.is_constant == 0 || bias.tensor.rank != 1 || bias.tensor.element_type != plugin::kF32 ||
      bias.tensor.dims[0] != weights.tensor.dims[0]) {
    return unimplemented("bias is not one constant per channel");
  }
  return plugin::ok();
}

/// The run input that a step adds to the operation's own result, if it lies as the output does.
int added_input(const BodyStep& step, const Chain& chain, const sluice_tensor& out) {
  // Register 0 is the convolution's own result. Exactly one operand must be it.
  if (step.op != BodyOp::kAdd || (step.a != 0) == (step.b != 0)) return -1;
  const int other = step.a + step.b;
  if (other >= chain.body.input_count) return -1;
  const ChainSource& source = chain.sources[static_cast<std::size_t>(other)];
  const bool fits = source.from == ChainSource::From::kRunInput &&
                    source.tensor->layout == out.layout && same_dims(*source.tensor, out);
  return fits ? source.run_input : -1;
}

bool set_bounds(const BodyStep& step, ConvEpilogue* epilogue) {
  if (step.op == BodyOp::kRelu) {
    epilogue->bounds = kReluBounds;
    return true;
  }
  if (step.op != BodyOp::kClip) return false;
  epilogue->bounds = {step.alpha, step.beta};
  return true;
}

/// Moves the body into the epilogue if all of it fits: an addition, then an activation.
void place_in_epilogue(const sluice_op& op, ConvOp* conv) {
  const Body& body = conv->chain.body;
  const sluice_tensor& out = op.outputs[0].tensor;
  ConvEpilogue epilogue;
  int residual = -1;
  int step = 0;
  int value = 0;  // the register with the result so far
  // Kernels read a residual in c16 alone.
  if (body.step_count > 0 && out.layout == SLUICE_LAYOUT_C16) {
    residual = added_input(body.steps[0], conv->chain, out);
    if (residual >= 0) value = body.steps[step++].result;
  }
  if (step < body.step_count && body.steps[step].a == value &&
      set_bounds(body.steps[step], &epilogue)) {
    ++step;
  }
  if (step != body.step_count) return;
  epilogue.residual = residual >= 0;
  conv->epilogue = epilogue;
  conv->residual_input = residual;
  conv->chain = {};
}

/// How a source of the body lies beside the output; false where no pixel distance describes it.
bool place_operand(const sluice_tensor& source, const sluice_tensor& out, ConvBodyOperand* placed) {
  const Dims dims = memory_dims(out);
  const Dims strides = broadcast_strides(*memory_dims_within(source, out), dims);
  const bool blocked = out.layout == SLUICE_LAYOUT_C16;
  const std::size_t spatial = dims.size() - (blocked ? 3 : 2);
  placed->image = strides[0];
  placed->channel = strides[1];
  placed->lane = blocked ? strides.back() : 0;
  placed->pixel =
      merged_stride(std::span(dims).subspan(2, spatial), std::span(strides).subspan(2, spatial));
  return placed->pixel >= 0;
}

/// Lets the body run on each piece of the output as it is done.
void place_body(const sluice_op& op, ConvOp* conv) {
  ConvBody body;
  for (std::size_t i = 1; i < conv->chain.sources.size(); ++i) {
    const ChainSource& source = conv->chain.sources[i];
    if (!place_operand(*source.tensor, op.outputs[0].tensor, &body.operands[i])) return;
  }
  body.body = conv->chain.body;
  conv->epilogue.body = body;
  conv->body_sources = std::exchange(conv->chain, {}).sources;
}

}  // namespace

Status check_conv(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (Status status = check_image(x); !status.is_ok()) return status;
  if (Status status = check_window(op, x.rank); !status.is_ok()) return status;
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  if (groups < 1 || groups > (1 << 24)) return unimplemented("groups out of range");
  if (Status status = check_weights(op); !status.is_ok()) return status;
  if (op.body == nullptr) return plugin::ok();
  Chain chain;
  if (Status status = translate_body(op, &chain); !status.is_ok()) return status;
  return check_sources(op, chain, op.outputs[0].tensor);
}

namespace {

void place_window(const sluice_op& op, ConvShape* shape) {
  shape->input = spatial_extent(dims_of(op.inputs[0].tensor));
  const Window window = read_window(op, shape->kernel, shape->input);
  shape->stride = window.stride;
  shape->dilation = window.dilation;
  shape->pad_begin = window.pad_begin;
  shape->pad_end = window.pad_end;
}

}  // namespace

ConvShape conv_weights_shape(const sluice_op& op) {
  const auto weights = dims_of(op.inputs[1].tensor);
  ConvShape shape;
  shape.groups = plugin::Attributes(op).get_int("group", 1);
  shape.out_channels = weights[0];
  shape.in_channels = weights[1] * shape.groups;
  shape.kernel = spatial_extent(weights);
  shape.in_layout = layout_of(op.inputs[0].tensor);
  shape.out_layout = layout_of(op.outputs[0].tensor);
  const auto dims = dims_of(op.inputs[0].tensor);
  if (dims[0] > 0) shape.batch = dims[0];
  const auto image = dims.subspan(2);
  if (std::all_of(image.begin(), image.end(), [](std::int64_t dim) { return dim > 0; })) {
    place_window(op, &shape);
  }
  return shape;
}

Status read_conv(const sluice_op& op, ConvOp* conv) {
  const sluice_tensor& x = op.inputs[0].tensor;
  ConvShape& shape = conv->shape;
  shape = conv_weights_shape(op);
  shape.batch = x.dims[0];
  place_window(op, &shape);
  if (const char* reason = refusal(shape); reason != nullptr) return unimplemented(reason);
  const Extent out = spatial_extent(dims_of(op.outputs[0].tensor));
  if (x.dims[1] != shape.in_channels || out.h != shape.output().h || out.w != shape.output().w) {
    return unimplemented("operands do not fit");
  }
  if (op.body == nullptr) return plugin::ok();
  // What fits becomes a residual and bounds; else the body runs on pieces of the result; else
  // `chain` stays, and a second pass over the whole result runs it.
  if (Status status = translate_body(op, &conv->chain); !status.is_ok()) return status;
  place_in_epilogue(op, conv);
  if (!conv->chain.body.empty()) place_body(op, conv);
  return plugin::ok();
}

void tell_extents(const ConvShape& shape, std::int64_t input_bytes, std::int64_t output_bytes,
                  Extents& extents) {
  const auto stored = [](Layout layout, std::int64_t channels) {
    return layout == Layout::kBlocked ? blocks_of(channels) * kBlock : channels;
  };
  const Extent out = shape.output();
  extents.reads(0, {shape.batch, stored(shape.in_layout, shape.in_channels), shape.input.h,
                    shape.input.w, input_bytes});
  extents.writes(
      0, {shape.batch, stored(shape.out_layout, shape.out_channels), out.h, out.w, output_bytes});
}

}  // namespace sluice::cpu
