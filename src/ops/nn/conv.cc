// Convolutions: Conv, ConvTranspose, ConvInteger, QLinearConv, DeformConv; and of Sluice's own,
//
// QuantizedConv  what a pass makes of a convolution between quantized tensors:
//                  u = scale[m] * sum((x - x_zero_point) * w) + bias[m]
//                  v = clamp(u, own_low, own_high)
//                      + residual_scale * (residual - residual_zero_point)
//                  y = saturate(round(clamp(v, low, high)) + y_zero_point)   of u8, or v as f32
//                Bounds that are not given are none; an f32 residual has no zero point.
#include <utility>

#include "ops/families.h"
#include "ops/nn/window.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kBytes = {ir::ElementType::kU8, ir::ElementType::kI8};

/// Data [N, C, spatial...] against weights of the same rank.
Status check_ranks(const InferenceContext& context, const ir::Shape& data,
                   const ir::Shape& weights) {
  if (data.size() < 3 || data.size() != weights.size()) {
    return context.error("data {} and weights {} must have the same rank, at least 3",
                         ir::shape_to_string(data), ir::shape_to_string(weights));
  }
  // The attribute repeats what the weights say; a model in which the two differ is damaged.
  const ir::Shape declared = kernel_shape(context);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const bool fits = declared.size() + 2 == weights.size() &&
                      (!weights[i + 2].is_known() || weights[i + 2] == declared[i]);
    if (!fits) {
      return context.error("kernel_shape {} is not that of the weights {}",
                           ir::shape_to_string(declared), ir::shape_to_string(weights));
    }
  }
  return ok_status();
}

/// Data channels, weights' channels and the number of output channels per group.
Status check_groups(const InferenceContext& context, const ir::Dim& data_channels,
                    const ir::Dim& weight_channels, const ir::Dim& divided) {
  const std::int64_t group = context.int_attribute("group", 1);
  if (group < 1) return context.error("group is {}", group);
  // Weights [M, C/group, ...]: each group reads its own channels of the data.
  const ir::Dim expected = weight_channels * group;
  if (!may_be_equal(data_channels, expected)) {
    return context.error("data has {} channels, the weights take {} ({} groups of {})",
                         data_channels.to_string(), expected.to_string(), group,
                         weight_channels.to_string());
  }
  if (divided.is_known() && divided.value() % group != 0) {
    return context.error("{} channels cannot be divided into {} groups", divided.to_string(),
                         group);
  }
  return ok_status();
}

Status infer_conv_of(InferenceContext& context, std::size_t data_index, std::size_t weights_index,
                     ir::ElementType element) {
  const ir::Shape* data = context.shape(data_index);
  const ir::Shape* weights = context.shape(weights_index);
  if (data == nullptr || weights == nullptr) {
    context.set_output(0, element, std::nullopt);
    return ok_status();
  }
  SLUICE_TRY(check_ranks(context, *data, *weights));
  SLUICE_TRY(check_groups(context, (*data)[1], (*weights)[1], (*weights)[0]));
  const Window window =
      SLUICE_TRY(parse_window(context, ir::Shape(weights->begin() + 2, weights->end())));
  ir::Shape shape = {(*data)[0], (*weights)[0]};
  for (std::size_t i = 0; i + 2 < data->size(); ++i) {
    shape.push_back(num_windows(window, i, (*data)[i + 2]));
  }
  context.set_output(0, element, std::move(shape));
  return ok_status();
}

Status infer_conv(InferenceContext& context) {
  return infer_conv_of(context, 0, 1, context.element(0));
}

Status infer_conv_integer(InferenceContext& context) {
  return infer_conv_of(context, 0, 1, ir::ElementType::kI32);
}

Status infer_qlinear_conv(InferenceContext& context) {
  // Inputs 1, 2, 4 and 5 are scales and zero points; the type of y is that of its zero point.
  return infer_conv_of(context, 0, 3, context.element(7));
}

Status check_zero_point(const InferenceContext& context, const char* name) {
  const std::int64_t zero = context.int_attribute(name);
  return zero >= 0 && zero <= 255 ? ok_status() : context.error("{} is {}", name, zero);
}

Status check_per_channel(const InferenceContext& context, std::size_t input) {
  const ir::Shape* weights = context.shape(1);
  const ir::Shape* vector = context.shape(input);
  if (weights == nullptr || vector == nullptr) return ok_status();
  const bool fits =
      vector->size() == 1 && !weights->empty() && may_be_equal((*vector)[0], (*weights)[0]);
  return fits ? ok_status()
              : context.error("input {} is {}; it must have a number per channel of the weights {}",
                              input, ir::shape_to_string(*vector), ir::shape_to_string(*weights));
}

Status infer_quantized_conv(InferenceContext& context) {
  const std::int64_t type = context.int_attribute("output_dtype", 1);
  const bool is_byte = type == static_cast<std::int64_t>(ir::ElementType::kU8);
  if (!is_byte && type != static_cast<std::int64_t>(ir::ElementType::kF32)) {
    return context.error("output_dtype {} is neither f32 nor u8", type);
  }
  for (const char* name : {"x_zero_point", "residual_zero_point", "y_zero_point"}) {
    SLUICE_TRY(check_zero_point(context, name));
  }
  SLUICE_TRY(check_per_channel(context, 2));
  SLUICE_TRY(check_per_channel(context, 3));
  return infer_conv_of(context, 0, 1, is_byte ? ir::ElementType::kU8 : ir::ElementType::kF32);
}

Status infer_conv_transpose(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* weights = context.shape(1);
  if (data == nullptr || weights == nullptr) return ok_status();
  SLUICE_TRY(check_ranks(context, *data, *weights));
  const std::int64_t group = context.int_attribute("group", 1);
  if (group < 1) return context.error("group is {}", group);
  SLUICE_TRY(check_groups(context, (*data)[1], floor_div((*weights)[0], group), (*weights)[0]));
  const Window window =
      SLUICE_TRY(parse_window(context, ir::Shape(weights->begin() + 2, weights->end())));
  const std::size_t rank = data->size() - 2;
  auto extra = context.ints_attribute("output_padding");
  const auto wanted = context.ints_attribute("output_shape");
  if (extra.empty()) extra.assign(rank, 0);
  // Some exporters put the batch and the channels before the spatial sizes of output_shape.
  const std::size_t skipped = wanted.size() == rank + 2 ? 2 : 0;
  if (extra.size() != rank || (!wanted.empty() && wanted.size() != rank + skipped)) {
    return context.error("output_padding and output_shape need {} entries", rank);
  }
  ir::Shape shape = {(*data)[0], (*weights)[1] * group};
  for (std::size_t i = 0; i < rank; ++i) {
    const ir::Dim stride = window.strides[i];
    if (!wanted.empty()) {
      shape.emplace_back(wanted[i + skipped]);
    } else if (window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower) {
      // With SAME the result is the stride times the data, and the pads follow from that.
      shape.push_back((*data)[i + 2] * stride);
    } else {
      shape.push_back(stride * ((*data)[i + 2] - 1) + extra[i] + window_extent(window, i) -
                      window.pads[i] - window.pads[i + rank]);
    }
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

AttributeSpec group() { return {"group", std::int64_t{1}}; }

std::vector<OpSchema> float_convolutions() {
  return {
      {.name = "Conv",
       .versions = {1, 11, 22},
       .doc = "convolution of [N, C, spatial...] with weights [M, C/group, kernel...]",
       .inputs = {{"X", kFloats, "T"}, {"W", kFloats, "T"}, {"B", kFloats, "T", true}},
       .outputs = {{"Y", kFloats, "T"}},
       .attributes = window_attributes({group()}),
       .infer = infer_conv,
       .upgrade = upgrade_unchanged},
      {.name = "ConvTranspose",
       .versions = {1, 11, 22},
       .doc = "transposed convolution of [N, C, spatial...] with weights [C, M/group, kernel...]",
       .inputs = {{"X", kFloats, "T"}, {"W", kFloats, "T"}, {"B", kFloats, "T", true}},
       .outputs = {{"Y", kFloats, "T"}},
       .attributes = window_attributes(
           {group(), {"output_padding", std::nullopt}, {"output_shape", std::nullopt}}),
       .infer = infer_conv_transpose,
       .upgrade = upgrade_unchanged},
      {.name = "DeformConv",
       .versions = {19, 22},
       .doc = "convolution whose taps are moved by offsets and weighted by a mask",
       .inputs = {{"X", kFloats, "T"},
                  {"W", kFloats, "T"},
                  {"offset", kFloats, "T"},
                  {"B", kFloats, "T", true},
                  {"mask", kFloats, "T", true}},
       .outputs = {{"Y", kFloats, "T"}},
       .attributes = window_attributes({group(), {"offset_group", std::int64_t{1}}}),
       .infer = infer_conv,
       .upgrade = upgrade_unchanged},
  };
}

}  // namespace

std::vector<OpSchema> conv_ops() {
  std::vector<OpSchema> ops = float_convolutions();
  ops.push_back({.name = "ConvInteger",
                 .versions = {10},
                 .doc = "convolution of integers less their zero points",
                 .inputs = {{"x", kBytes, "T1"},
                            {"w", kBytes, "T2"},
                            {"x_zero_point", kBytes, "T1", true},
                            {"w_zero_point", kBytes, "T2", true}},
                 .outputs = {{"y", {ir::ElementType::kI32}}},
                 .attributes = window_attributes({group()}),
                 .infer = infer_conv_integer});
  ops.push_back({.name = "QLinearConv",
                 .versions = {10},
                 .doc = "convolution of quantized tensors, quantized again",
                 .inputs = {{"x", kBytes, "T1"},
                            {"x_scale", {ir::ElementType::kF32}},
                            {"x_zero_point", kBytes, "T1"},
                            {"w", kBytes, "T2"},
                            {"w_scale", {ir::ElementType::kF32}},
                            {"w_zero_point", kBytes, "T2"},
                            {"y_scale", {ir::ElementType::kF32}},
                            {"y_zero_point", kBytes, "T3"},
                            {"B", {ir::ElementType::kI32}, "T4", true}},
                 .outputs = {{"y", kBytes, "T3"}},
                 .attributes = window_attributes({group()}),
                 .infer = infer_qlinear_conv});
  ops.push_back({.domain = "sluice",
                 .name = "QuantizedConv",
                 .versions = {1},
                 .doc = "convolution of bytes with fused residual, clamp and rounding",
                 .inputs = {{"x", {ir::ElementType::kU8}},
                            {"w", {ir::ElementType::kI8}},
                            {"scale", {ir::ElementType::kF32}},
                            {"bias", {ir::ElementType::kF32}},
                            {"residual", {ir::ElementType::kU8, ir::ElementType::kF32}, "", true}},
                 .outputs = {{"y", {ir::ElementType::kU8, ir::ElementType::kF32}}},
                 .attributes = window_attributes({group(),
                                                  {"x_zero_point", std::int64_t{0}},
                                                  {"residual_scale", 1.0F},
                                                  {"residual_zero_point", std::int64_t{0}},
                                                  {"low", std::nullopt},
                                                  {"high", std::nullopt},
                                                  {"own_low", std::nullopt},
                                                  {"own_high", std::nullopt},
                                                  {"output_dtype", std::int64_t{1}},
                                                  {"y_zero_point", std::int64_t{0}}}),
                 .infer = infer_quantized_conv});
  return ops;
}

}  // namespace sluice::ops
