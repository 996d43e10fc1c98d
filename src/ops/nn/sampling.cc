// Images sampled, cropped or put together: GridSample, AffineGrid, CenterCropPad, Col2Im.
#include <numeric>
#include <string>
#include <utility>

#include "ops/axes.h"
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kSampled = kNumbers | kBools;

Status infer_grid_sample(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* grid = context.shape(1);
  if (data == nullptr || grid == nullptr) return ok_status();
  const auto spatial = static_cast<std::int64_t>(data->size()) - 2;
  if (spatial < 1 || grid->size() != data->size() ||
      (grid->back().is_known() && !grid->back().is(spatial))) {
    return context.error("grid {} does not fit data {}", ir::shape_to_string(*grid),
                         ir::shape_to_string(*data));
  }
  ir::Shape shape = {(*data)[0], (*data)[1]};
  // The grid is [batch, places of the output ..., spatial]: its middle gives the output's size.
  shape.insert(shape.end(), grid->begin() + 1, grid->end() - 1);
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status upgrade_grid_sample(ir::Subgraph& subgraph, ir::Operation& operation) {
  const std::string mode = operation.attributes.get_or<std::string>("mode", "linear");
  // Opset 20 renamed the modes when it allowed more than two spatial dimensions.
  if (mode == "bilinear") operation.attributes.set("mode", std::string("linear"));
  if (mode == "bicubic") operation.attributes.set("mode", std::string("cubic"));
  return upgrade_unchanged(subgraph, operation);
}

Status infer_affine_grid(InferenceContext& context) {
  const ir::Shape* theta = context.shape(0);
  const Values* size = context.values(1);
  std::optional<ir::Shape> shape;
  if (size != nullptr) {
    if (size->size() != 4 && size->size() != 5) {
      return context.error("size has {} entries; it needs 4 or 5", size->size());
    }
    const auto spatial = static_cast<std::int64_t>(size->size()) - 2;
    if (theta != nullptr &&
        (theta->size() != 3 || ((*theta)[1].is_known() && !(*theta)[1].is(spatial)))) {
      return context.error("theta {} is not [N,{},{}]", ir::shape_to_string(*theta), spatial,
                           spatial + 1);
    }
    // `size` is [batch, channels, places ...]. A grid has no channels, but a coordinate per axis.
    shape = ir::Shape{size->front()};
    shape->insert(shape->end(), size->begin() + 2, size->end());
    shape->emplace_back(spatial);
    // Without `size` the rows of theta still tell whether the images have 2 or 3 axes.
  } else if (theta != nullptr && theta->size() == 3 && ((*theta)[1].is(2) || (*theta)[1].is(3))) {
    shape = ir::Shape{(*theta)[0]};
    const ir::Shape pixels = unknown_shape(context, (*theta)[1].value());
    shape->insert(shape->end(), pixels.begin(), pixels.end());
    shape->push_back((*theta)[1]);
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status infer_center_crop_pad(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  if (data == nullptr) return ok_status();
  const Values* wanted = context.values(1);
  auto axes = SLUICE_TRY(axes_attribute(context, "axes", data->size()));
  // Without axes the shape speaks of all of them.
  if (axes.empty()) {
    axes.resize(data->size());
    std::iota(axes.begin(), axes.end(), 0U);
  }
  if (wanted != nullptr && wanted->size() != axes.size()) {
    return context.error("shape has {} entries for {} axes", wanted->size(), axes.size());
  }
  ir::Shape shape = *data;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[axes[i]] = wanted != nullptr ? (*wanted)[i] : context.unknown_dim();
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status infer_col2im(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const Values* image = context.values(1);
  const Values* block = context.values(2);
  std::optional<ir::Shape> shape;
  if (data != nullptr && data->size() != 3) {
    return context.error("input {} must have rank 3", ir::shape_to_string(*data));
  }
  if (data != nullptr && image != nullptr) {
    ir::Dim channels = context.unknown_dim();
    if (block != nullptr) {
      if (block->size() != image->size()) return context.error("image and block differ in rank");
      ir::Dim taps = 1;
      for (const ir::Dim& size : *block) taps = taps * size;
      // A column holds all taps of a block for each channel.
      channels = floor_div((*data)[1], taps);
    }
    shape = ir::Shape{(*data)[0], channels};
    shape->insert(shape->end(), image->begin(), image->end());
    // The length of image_shape, and so the rank, is known more often than its values.
  } else if (const auto rank = vector_length(context, 1); data != nullptr && rank) {
    shape = ir::Shape{(*data)[0], context.unknown_dim()};
    const ir::Shape pixels = unknown_shape(context, *rank);
    shape->insert(shape->end(), pixels.begin(), pixels.end());
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

OperandSpec shape_input(std::string_view name, TypeSet types) {
  return {.name = name, .types = types, .is_shape_value = true};
}

}  // namespace

std::vector<OpSchema> sampling_ops() {
  return {
      {.name = "GridSample",
       .versions = {16, 20, 22},
       .doc = "interpolates at the positions of a grid",
       .inputs = {{"X", kSampled, "T1"}, {"grid", kFloats, "T2"}},
       .outputs = {{"Y", kSampled, "T1"}},
       .attributes = {{"align_corners", std::int64_t{0}},
                      {"mode", std::string("linear")},
                      {"padding_mode", std::string("zeros")}},
       .infer = infer_grid_sample,
       .upgrade = upgrade_grid_sample},
      {.name = "AffineGrid",
       .versions = {20},
       .doc = "positions of an image's pixels under an affine map, for GridSample",
       .inputs = {{"theta", kFloats, "T1"}, shape_input("size", kI64Only)},
       .outputs = {{"grid", kFloats, "T1"}},
       .attributes = {{"align_corners", std::int64_t{0}}},
       .infer = infer_affine_grid},
      {.name = "CenterCropPad",
       .versions = {18},
       .doc = "crops or pads with zeros about the centre",
       .inputs = {{"input_data", kAllTensors, "T"}, shape_input("shape", kIndices)},
       .outputs = {{"output_data", kAllTensors, "T"}},
       .attributes = {{"axes", std::nullopt}},
       .infer = infer_center_crop_pad},
      {.name = "Col2Im",
       .versions = {18},
       .doc = "adds columns of blocks up to images",
       .inputs = {{"input", kNumbers, "T"},
                  shape_input("image_shape", kI64Only),
                  shape_input("block_shape", kI64Only)},
       .outputs = {{"output", kNumbers, "T"}},
       .attributes = {{"dilations", std::nullopt},
                      {"pads", std::nullopt},
                      {"strides", std::nullopt}},
       .infer = infer_col2im},
  };
}

}  // namespace sluice::ops
