// Resize, and Upsample, which becomes one.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "ops/axes.h"
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"

namespace sluice::ops {
namespace {

constexpr double kLargestSize = 9.0e15;  // where doubles still count every integer

/// floor(dim * scale), kept as an expression where the scale or its inverse is a whole number. As
/// in ONNX's own shape inference the product is an f32: 5 pixels times 2.6 are 13.
ir::Dim scaled(InferenceContext& context, const ir::Dim& dim, double scale) {
  if (scale < kLargestSize && scale == std::floor(scale)) {
    return dim * static_cast<std::int64_t>(scale);
  }
  if (dim.is_known()) {
    const float size = std::floor(static_cast<float>(dim.value()) * static_cast<float>(scale));
    return size < kLargestSize ? ir::Dim(static_cast<std::int64_t>(size)) : ir::Dim::overflow();
  }
  const double inverse = 1 / scale;
  if (inverse < kLargestSize && inverse == std::floor(inverse)) {
    return floor_div(dim, static_cast<std::int64_t>(inverse));
  }
  return context.unknown_dim();
}

/// The axes that scales and sizes speak of: all axes, or those of attribute `axes`.
Result<std::vector<std::size_t>> resized_axes(const InferenceContext& context, std::size_t rank) {
  auto axes = SLUICE_TRY(axes_attribute(context, "axes", rank));
  if (!axes.empty()) return axes;
  axes.resize(rank);
  std::iota(axes.begin(), axes.end(), 0U);
  return axes;
}

Status apply_scales(InferenceContext& context, const std::vector<std::size_t>& axes,
                    const FloatValues& scales, ir::Shape& shape) {
  const FloatValues* roi = context.float_values(1);
  const bool crops =
      context.text_attribute("coordinate_transformation_mode") == "tf_crop_and_resize" &&
      roi != nullptr && roi->size() == 2 * axes.size();
  if (scales.size() != axes.size()) {
    return context.error("{} scales for {} axes", scales.size(), axes.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0)) return context.error("scale {} is not positive", scales[i]);
    const double part = crops ? (*roi)[i + axes.size()] - (*roi)[i] : 1;
    shape[axes[i]] = scaled(context, shape[axes[i]], scales[i] * std::max(part, 0.0));
  }
  return ok_status();
}

/// With a policy all axes share one scale: the smallest (or largest) that the sizes ask for.
void keep_aspect_ratio(InferenceContext& context, const std::vector<std::size_t>& axes,
                       const Values& sizes, bool is_largest, ir::Shape& shape) {
  std::optional<double> scale;
  bool is_known = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ir::Dim& dim = shape[axes[i]];
    is_known = is_known && dim.is_known() && sizes[i].is_known() && dim.value() > 0;
    if (!is_known) break;
    const double wanted = static_cast<double>(sizes[i].value()) / static_cast<double>(dim.value());
    if (!scale || (is_largest ? wanted > *scale : wanted < *scale)) scale = wanted;
  }
  for (const std::size_t axis : axes) {
    if (!is_known) {
      shape[axis] = context.unknown_dim();
      continue;
    }
    const double size = std::floor(static_cast<double>(shape[axis].value()) * *scale + 0.5);
    shape[axis] =
        size < kLargestSize ? ir::Dim(static_cast<std::int64_t>(size)) : ir::Dim::overflow();
  }
}

Status apply_sizes(InferenceContext& context, const std::vector<std::size_t>& axes,
                   const Values& sizes, ir::Shape& shape) {
  if (sizes.size() != axes.size()) {
    return context.error("{} sizes for {} axes", sizes.size(), axes.size());
  }
  const std::string policy = context.text_attribute("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger" || policy == "not_smaller") {
    keep_aspect_ratio(context, axes, sizes, policy == "not_smaller", shape);
    return ok_status();
  }
  if (policy != "stretch") return context.error("keep_aspect_ratio_policy \"{}\"", policy);
  for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = sizes[i];
  return ok_status();
}

/// An empty vector stands for an absent one: old forms could not leave `scales` out.
bool is_given(const InferenceContext& context, std::size_t index) {
  const ir::Shape* shape = context.shape(index);
  const bool is_empty = shape != nullptr && shape->size() == 1 && (*shape)[0].is(0);
  return context.has_input(index) && !is_empty;
}

Status infer_resize(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  if (data == nullptr) return ok_status();
  ir::Shape shape = *data;
  const auto axes = SLUICE_TRY(resized_axes(context, shape.size()));
  if (is_given(context, 2) == is_given(context, 3)) {
    return context.error("it takes either scales or sizes");
  }
  const FloatValues* scales = is_given(context, 2) ? context.float_values(2) : nullptr;
  const Values* sizes = is_given(context, 3) ? context.values(3) : nullptr;
  if (scales != nullptr) {
    SLUICE_TRY(apply_scales(context, axes, *scales, shape));
  } else if (sizes != nullptr) {
    SLUICE_TRY(apply_sizes(context, axes, *sizes, shape));
  } else {
    for (const std::size_t axis : axes) shape[axis] = context.unknown_dim();
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

/// Version 10 and Upsample: input 1 holds the scales, coordinates are asymmetric.
Status upgrade_to_scales(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.inputs.size() != 2) {
    return invalid_argument("{}: it takes the data and the scales", operation.describe());
  }
  operation.kind = "Resize";
  operation.inputs.insert(operation.inputs.begin() + 1, ir::OperandId());
  operation.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  operation.attributes.set("nearest_mode", std::string("floor"));
  return upgrade_unchanged(subgraph, operation);
}

/// Version 10 takes the next pixel where it shrinks and the last one where it enlarges, axis by
/// axis: a rounding without a name in later versions, which kernels know as "simple".
Status upgrade_resize(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version != 10) return upgrade_unchanged(subgraph, operation);
  SLUICE_TRY(upgrade_to_scales(subgraph, operation));
  operation.attributes.set("nearest_mode", std::string("simple"));
  return ok_status();
}

Status upgrade_upsample(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version == 1) {
    const float height = operation.attributes.get_or<float>("height_scale", 1);
    const float width = operation.attributes.get_or<float>("width_scale", 1);
    operation.attributes.set("scales", std::vector<float>{1, 1, height, width});
    operation.attributes.erase("height_scale");
    operation.attributes.erase("width_scale");
  }
  if (operation.version < 9) attribute_to_input(subgraph, operation, "scales", 1);
  if (operation.attributes.get_or<std::string>("mode", "nearest") == "bilinear") {
    operation.attributes.set("mode", std::string("linear"));
  }
  return upgrade_to_scales(subgraph, operation);
}

}  // namespace

std::vector<OpSchema> resize_ops() {
  constexpr TypeSet kAll = kNumbers | kBools;
  const std::vector<OperandSpec> scales = {{.name = "scales",
                                            .types = {ir::ElementType::kF32},
                                            .is_optional = true,
                                            .is_shape_value = true}};
  return {
      {.name = "Resize",
       .versions = {10, 11, 13, 18, 19},
       .doc = "interpolates to other sizes",
       .inputs =
           {{"X", kAll, "T1"},
            {.name = "roi", .types = kFloats, .is_optional = true, .is_shape_value = true},
            scales[0],
            {.name = "sizes", .types = kI64Only, .is_optional = true, .is_shape_value = true}},
       .outputs = {{"Y", kAll, "T1"}},
       .attributes = {{"antialias", std::int64_t{0}},
                      {"axes", std::nullopt},
                      {"coordinate_transformation_mode", std::string("half_pixel")},
                      {"cubic_coeff_a", -0.75F},
                      {"exclude_outside", std::int64_t{0}},
                      {"extrapolation_value", 0.0F},
                      {"keep_aspect_ratio_policy", std::string("stretch")},
                      {"mode", std::string("nearest")},
                      {"nearest_mode", std::string("round_prefer_floor")}},
       .infer = infer_resize,
       .upgrade = upgrade_resize},
      {.name = "Upsample",
       .versions = {1, 7, 9, 10},
       .doc = "enlarges by scales; imported as Resize",
       .inputs = {{"X", kAll, "T"}, scales[0]},
       .outputs = {{"Y", kAll, "T"}},
       .attributes = {{"mode", std::string("nearest")}},
       .infer = infer_resize,
       .upgrade = upgrade_upsample},
  };
}

}  // namespace sluice::ops
