// Normalizations: batch, instance, layer, group, RMS, Lp, mean-variance, local response.
#include <algorithm>
#include <utility>

#include "ops/axes.h"
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

constexpr float kEpsilon = 1e-5F;

AttributeSpec epsilon() { return {"epsilon", kEpsilon}; }

/// A vector with an element for each channel (axis 1) of input 0.
Status check_per_channel(const InferenceContext& context, std::size_t first, std::size_t last) {
  const ir::Shape* data = context.shape(0);
  if (data == nullptr) return ok_status();
  // A vector is a batch of single-channel elements.
  const ir::Dim channels = data->size() > 1 ? (*data)[1] : ir::Dim(1);
  for (std::size_t i = first; i <= last; ++i) {
    const ir::Shape* vector = context.shape(i);
    if (vector == nullptr) continue;
    const bool fits = vector->size() == 1 && may_be_equal((*vector)[0], channels);
    if (!fits) {
      return context.error("input {} has shape {}, the data {} has {} channels", i,
                           ir::shape_to_string(*vector), ir::shape_to_string(*data),
                           channels.to_string());
    }
  }
  return ok_status();
}

Status infer_batch_normalization(InferenceContext& context) {
  SLUICE_TRY(check_per_channel(context, 1, 4));
  SLUICE_TRY(infer_same_as_input(context));
  for (std::size_t i = 1; i < context.num_outputs(); ++i) {
    // Outputs 1 and 2 are the running statistics, of the shapes of inputs 3 and 4.
    const ir::Shape* vector = context.shape(i + 2);
    context.set_output(i, context.element(3),
                       vector ? std::optional<ir::Shape>(*vector) : std::nullopt);
  }
  return ok_status();
}

/// Old forms: "spatial = 0" keeps statistics per element and stays old; a node with more than one
/// output trained, which the newest form calls training_mode.
Status upgrade_batch_normalization(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version < 9 && operation.attributes.get_or<std::int64_t>("spatial", 1) == 0) {
    return unimplemented("{}: statistics per element (spatial = 0) are not supported",
                         operation.describe());
  }
  if (operation.version < 14) {
    // Training outputs of old opsets, which serve the computation of a gradient.
    if (operation.output(3).is_valid() || operation.output(4).is_valid()) {
      return unimplemented(
          "{}: outputs saved_mean and saved_var, of opsets before 14, are not "
          "supported; leave them out",
          operation.describe());
    }
    const bool is_training = operation.output(1).is_valid() || operation.output(2).is_valid();
    if (is_training) operation.attributes.set("training_mode", std::int64_t{1});
    operation.outputs.resize(std::min<std::size_t>(operation.outputs.size(), 3));
  }
  for (const char* name : {"spatial", "is_test", "consumed_inputs"}) {
    operation.attributes.erase(name);
  }
  return upgrade_unchanged(subgraph, operation);
}

Status infer_per_channel(InferenceContext& context) {
  SLUICE_TRY(check_per_channel(context, 1, 2));
  return infer_same_as_input(context);
}

/// Scale and bias must broadcast to the axes from `axis` on; the output has the data's shape.
Status check_suffix(const InferenceContext& context, std::size_t axis, std::size_t index) {
  const ir::Shape* vector = context.shape(index);
  if (vector == nullptr) return ok_status();
  const ir::Shape& data = *context.shape(0);
  // For the message alone. The check compares with the whole shape: a leading 1 is allowed to
  // broadcast.
  const ir::Shape suffix(data.begin() + static_cast<std::ptrdiff_t>(axis), data.end());
  auto broadcast = broadcast_shapes(data, *vector);
  if (!broadcast.is_ok() || vector->size() > data.size()) {
    return context.error("input {} of shape {} does not broadcast to {}", index,
                         ir::shape_to_string(*vector), ir::shape_to_string(data));
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    const ir::Dim& joined = (*broadcast)[i];  // a symbol may turn out to be 1
    if (data[i].is(1) && joined.is_known() && !joined.is(1)) {
      return context.error("input {} of shape {} would stretch {}", index,
                           ir::shape_to_string(*vector), ir::shape_to_string(suffix));
    }
  }
  return ok_status();
}

Status infer_layer_normalization(InferenceContext& context) {
  const auto stash = ir::element_type_from_onnx(context.int_attribute("stash_type", 1));
  if (!stash || !kFloats.contains(*stash)) {
    return context.error("stash_type {} is not a float type", context.int_attribute("stash_type"));
  }
  // Mean and inverse deviation have one element where the normalized axes were.
  std::optional<ir::Shape> statistics;
  if (const ir::Shape* data = context.shape(0)) {
    const std::size_t axis = SLUICE_TRY(context.axis_attribute(data->size(), -1));
    SLUICE_TRY(check_suffix(context, axis, 1));
    SLUICE_TRY(check_suffix(context, axis, 2));
    statistics = *data;
    for (std::size_t i = axis; i < statistics->size(); ++i) (*statistics)[i] = 1;
  }
  SLUICE_TRY(infer_same_as_input(context));
  context.set_output(1, *stash, statistics);
  context.set_output(2, *stash, statistics);
  return ok_status();
}

Status infer_rms_normalization(InferenceContext& context) {
  if (const ir::Shape* data = context.shape(0)) {
    SLUICE_TRY(check_suffix(context, SLUICE_TRY(context.axis_attribute(data->size(), -1)), 1));
  }
  // The result has the type of the scale, which may be wider than that of the data.
  set_like_input(context, context.element(1));
  return ok_status();
}

Status infer_group_normalization(InferenceContext& context) {
  const std::int64_t groups = context.int_attribute("num_groups");
  if (groups < 1) return context.error("num_groups is {}", groups);
  if (const ir::Shape* data = context.shape(0)) {
    if (data->size() < 2)
      return context.error("input {} has too few dimensions", ir::shape_to_string(*data));
    const ir::Dim& channels = (*data)[1];
    if (channels.is_known() && channels.value() % groups != 0) {
      return context.error("{} channels cannot be divided into {} groups", channels.to_string(),
                           groups);
    }
  }
  // Version 18 has a scale per group, 21 one per channel.
  if (context.version() >= 21) SLUICE_TRY(check_per_channel(context, 1, 2));
  return infer_same_as_input(context);
}

Status infer_along_axis(InferenceContext& context) {
  if (const ir::Shape* data = context.shape(0)) {
    SLUICE_TRY(context.axis_attribute(data->size(), -1));
  }
  return infer_same_as_input(context);
}

Status infer_along_axes(InferenceContext& context) {
  if (const ir::Shape* data = context.shape(0)) {
    SLUICE_TRY(axes_attribute(context, "axes", data->size()));
  }
  return infer_same_as_input(context);
}

Status infer_lrn(InferenceContext& context) {
  if (context.int_attribute("size") < 1) {
    return context.error("size is {}", context.int_attribute("size"));
  }
  return infer_same_as_input(context);
}

OpSchema normalization(std::string_view name, std::vector<int> versions, std::string_view doc,
                       InferFn infer, std::vector<AttributeSpec> attributes) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{"X", kFloats, "T"}},
          .outputs = {{"Y", kFloats, "T"}},
          .attributes = std::move(attributes),
          .infer = infer,
          .upgrade = upgrade_unchanged};
}

OpSchema scaled(OpSchema schema, bool is_bias_optional = false) {
  schema.inputs.push_back({"scale", kFloats, "T"});
  schema.inputs.push_back({"B", kFloats, "T", is_bias_optional});
  return schema;
}

OpSchema batch_normalization() {
  return {.name = "BatchNormalization",
          .versions = {1, 6, 7, 9, 14, 15},
          .doc = "(x - mean) / sqrt(var + epsilon) * scale + bias, per channel",
          .inputs = {{"X", kFloats, "T"},
                     {"scale", kFloats, "T1"},
                     {"B", kFloats, "T1"},
                     {"input_mean", kFloats, "T2"},
                     {"input_var", kFloats, "T2"}},
          .outputs = {{"Y", kFloats, "T"},
                      {"running_mean", kFloats, "T2", true},
                      {"running_var", kFloats, "T2", true}},
          .attributes = {epsilon(), {"momentum", 0.9F}, {"training_mode", std::int64_t{0}}},
          .infer = infer_batch_normalization,
          .upgrade = upgrade_batch_normalization};
}

OpSchema layer_normalization() {
  OpSchema schema =
      scaled(normalization(
                 "LayerNormalization", {17}, "zero mean and unit variance over the axes from axis",
                 infer_layer_normalization,
                 {{"axis", std::int64_t{-1}}, epsilon(), {"stash_type", std::int64_t{1}}}),
             true);
  schema.outputs.push_back({"Mean", kFloats, "U", true});
  schema.outputs.push_back({"InvStdDev", kFloats, "U", true});
  return schema;
}

OpSchema group_normalization() {
  OpSchema schema = scaled(normalization(
      "GroupNormalization", {18, 21}, "zero mean and unit variance per group of channels",
      infer_group_normalization,
      {epsilon(), {"num_groups", std::nullopt, true}, {"stash_type", std::int64_t{1}}}));
  // The two versions differ in the length of the scale, which only the shapes tell; both are kept.
  schema.upgrade = nullptr;
  return schema;
}

OpSchema rms_normalization() {
  OpSchema schema = normalization(
      "RMSNormalization", {23}, "x / sqrt(mean(x^2) + epsilon) * scale", infer_rms_normalization,
      {{"axis", std::int64_t{-1}}, epsilon(), {"stash_type", std::int64_t{1}}});
  schema.inputs.push_back({"scale", kFloats, "V"});
  schema.outputs[0].variable = "V";
  return schema;
}

/// Turns `operation` into x - mean(x) over the axes.
/// The subtraction takes the operation's place, so that readers of its output stay as they are.
void subtract_mean(ir::Subgraph& subgraph, ir::Operation& operation,
                   const std::vector<std::int64_t>& axes) {
  ir::Operation mean;
  mean.kind = "ReduceMean";
  mean.version = find_schema("", "ReduceMean")->newest_version();
  mean.name = operation.name;
  const ir::Shape count = {static_cast<std::int64_t>(axes.size())};
  mean.inputs = {operation.input(0), subgraph.add_constant("", ir::make_i64_constant(axes, count))};
  mean.outputs = {subgraph.add_operand({})};
  mean.attributes.set("keepdims", std::int64_t{1});
  mean.attributes.set("noop_with_empty_axes", std::int64_t{0});
  operation.kind = "Sub";
  operation.version = find_schema("", "Sub")->newest_version();
  operation.attributes = {};
  operation.inputs = {operation.input(0), mean.outputs[0]};
  subgraph.add_operation(std::move(mean));
}

/// Version 1, of ONNX's experimental set, normalizes images [N, C, H, W] per channel, or all of
/// them together; it may leave the variance as it is.
Status upgrade_mean_variance(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version != 1) return upgrade_unchanged(subgraph, operation);
  const bool is_across = operation.attributes.get_or<std::int64_t>("across_channels", 0) != 0;
  const bool is_scaled = operation.attributes.get_or<std::int64_t>("normalize_variance", 1) != 0;
  const std::vector<std::int64_t> axes =
      is_across ? std::vector<std::int64_t>{0, 1, 2, 3} : std::vector<std::int64_t>{0, 2, 3};
  if (!is_scaled) {
    subtract_mean(subgraph, operation, axes);
    return ok_status();
  }
  operation.attributes = {};
  operation.attributes.set("axes", axes);
  return upgrade_unchanged(subgraph, operation);
}

OpSchema mean_variance_normalization() {
  OpSchema schema = normalization("MeanVarianceNormalization", {1, 9, 13},
                                  "(x - mean) / sqrt(variance) over the axes", infer_along_axes,
                                  {{"axes", std::vector<std::int64_t>{0, 2, 3}}});
  schema.upgrade = upgrade_mean_variance;
  return schema;
}

}  // namespace

std::vector<OpSchema> normalization_ops() {
  return {
      batch_normalization(),
      scaled(normalization("InstanceNormalization", {1, 6, 22},
                           "zero mean and unit variance per image and channel", infer_per_channel,
                           {epsilon()})),
      layer_normalization(),
      group_normalization(),
      rms_normalization(),
      normalization("LpNormalization", {1, 22}, "x / p-norm along an axis", infer_along_axis,
                    {{"axis", std::int64_t{-1}}, {"p", std::int64_t{2}}}),
      mean_variance_normalization(),
      normalization(
          "LRN", {1, 13}, "divides by the energy of neighbouring channels", infer_lrn,
          {{"alpha", 1e-4F}, {"beta", 0.75F}, {"bias", 1.0F}, {"size", std::nullopt, true}}),
  };
}

}  // namespace sluice::ops
