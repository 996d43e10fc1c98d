// Object detection: RoiAlign, MaxRoiPool, NonMaxSuppression; and TopK.
#include <string>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kF32Only = {ir::ElementType::kF32};

/// What both poolings have in common: regions are rows, each pooled to one size. RoiAlign has the
/// image's index in an input of its own, MaxRoiPool in the first of five columns.
Status infer_rois(InferenceContext& context, std::int64_t columns, ir::Dim height, ir::Dim width) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* rois = context.shape(1);
  if ((data && data->size() != 4) ||
      (rois && (rois->size() != 2 || ((*rois)[1].is_known() && !(*rois)[1].is(columns))))) {
    return context.error("it takes images [N,C,H,W] and regions [R,{}]", columns);
  }
  context.set_output(
      0, context.element(0),
      ir::Shape{rois ? (*rois)[0] : context.unknown_dim(),
                data ? (*data)[1] : context.unknown_dim(), std::move(height), std::move(width)});
  return ok_status();
}

Status infer_roi_align(InferenceContext& context) {
  return infer_rois(context, 4, context.int_attribute("output_height", 1),
                    context.int_attribute("output_width", 1));
}

Status infer_max_roi_pool(InferenceContext& context) {
  const auto pooled = context.ints_attribute("pooled_shape");
  // The attribute is required, so an empty list is one that the model wrote.
  if (pooled.size() != 2) return context.error("pooled_shape must have 2 entries");
  return infer_rois(context, 5, pooled[0], pooled[1]);
}

/// Version 10 did not move pixels by a half.
Status upgrade_roi_align(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version == 10) {
    operation.attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  }
  return upgrade_unchanged(subgraph, operation);
}

/// At most `max_output_boxes_per_class` boxes of each class of each image.
Status infer_non_max_suppression(InferenceContext& context) {
  const ir::Shape* boxes = context.shape(0);
  const ir::Shape* scores = context.shape(1);
  if ((boxes && (boxes->size() != 3 || ((*boxes)[2].is_known() && !(*boxes)[2].is(4)))) ||
      (scores && scores->size() != 3)) {
    return context.error("it takes boxes [N,B,4] and scores [N,C,B]");
  }
  ir::Dim rows = context.unknown_dim();
  if (scores != nullptr) {
    ir::Dim per_class = (*scores)[2];
    const Values* limit = context.values(2);
    // A missing limit is 0: no box is selected.
    if (!context.has_input(2)) per_class = 0;
    if (limit != nullptr && limit->size() == 1) {
      per_class = min(per_class, max((*limit)[0], ir::Dim(0)));
    }
    // The kernel finds how many boxes stay. Memory is planned for all that the limit allows.
    rows = context.data_dependent_dim((*scores)[0] * (*scores)[1] * per_class);
  }
  context.set_output(0, ir::ElementType::kI64, ir::Shape{rows, 3});
  return ok_status();
}

Status infer_top_k(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  std::optional<ir::Shape> shape;
  if (data != nullptr) {
    const std::size_t axis = SLUICE_TRY(context.axis_attribute(data->size(), -1));
    shape = *data;
    ir::Dim& dim = (*shape)[axis];
    const Values* k = context.values(1);
    if (k != nullptr && k->size() == 1) {
      const ir::Dim& wanted = k->front();
      if (dim.is_known() && wanted.is_known() && wanted.value() > dim.value()) {
        return context.error("K is {}, the axis has {} elements", wanted.to_string(),
                             dim.to_string());
      }
      dim = wanted;
    } else {
      // K is computed in the graph: the axis gets its length when the run knows it.
      dim = context.unknown_dim();
    }
  }
  context.set_output(0, context.element(0), shape);
  context.set_output(1, ir::ElementType::kI64, std::move(shape));
  return ok_status();
}

Status upgrade_top_k(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version == 1) attribute_to_input(subgraph, operation, "k", 1);
  return upgrade_unchanged(subgraph, operation);
}

OpSchema roi_align() {
  return {.name = "RoiAlign",
          .versions = {10, 16, 22},
          .doc = "regions of images, pooled to one size with interpolation",
          .inputs = {{"X", kFloats, "T1"}, {"rois", kFloats, "T1"}, {"batch_indices", kI64Only}},
          .outputs = {{"Y", kFloats, "T1"}},
          .attributes = {{"coordinate_transformation_mode", std::string("half_pixel")},
                         {"mode", std::string("avg")},
                         {"output_height", std::int64_t{1}},
                         {"output_width", std::int64_t{1}},
                         {"sampling_ratio", std::int64_t{0}},
                         {"spatial_scale", 1.0F}},
          .infer = infer_roi_align,
          .upgrade = upgrade_roi_align};
}

OpSchema non_max_suppression() {
  const auto scalar = [](std::string_view name, TypeSet types, bool is_shape_value) {
    return OperandSpec{.name = name,
                       .types = types,
                       .is_optional = true,
                       .is_shape_value = is_shape_value,
                       .is_single = true};
  };
  return {.name = "NonMaxSuppression",
          .versions = {10, 11},
          .doc = "boxes with the best scores, without those that overlap a better one",
          .inputs = {{"boxes", kF32Only},
                     {"scores", kF32Only},
                     scalar("max_output_boxes_per_class", kI64Only, true),
                     scalar("iou_threshold", kF32Only, false),
                     scalar("score_threshold", kF32Only, false)},
          .outputs = {{"selected_indices", kI64Only}},
          .attributes = {{"center_point_box", std::int64_t{0}}},
          .infer = infer_non_max_suppression,
          .traits = kDataDependentShape,
          .upgrade = upgrade_unchanged};
}

}  // namespace

std::vector<OpSchema> detection_ops() {
  return {
      roi_align(),
      {.name = "MaxRoiPool",
       .versions = {1, 22},
       .doc = "largest elements of regions of images",
       .inputs = {{"X", kFloats, "T"}, {"rois", kFloats, "T"}},
       .outputs = {{"Y", kFloats, "T"}},
       .attributes = {{"pooled_shape", std::nullopt, true}, {"spatial_scale", 1.0F}},
       .infer = infer_max_roi_pool,
       .upgrade = upgrade_unchanged},
      non_max_suppression(),
      {.name = "TopK",
       .versions = {1, 10, 11, 24},
       .doc = "largest or smallest K elements along an axis, and their indices",
       .inputs = {{"X", kNumbers, "T"},
                  {.name = "K", .types = kI64Only, .is_shape_value = true, .is_single = true}},
       .outputs = {{"Values", kNumbers, "T"}, {"Indices", kI64Only}},
       .attributes = {{"axis", std::int64_t{-1}},
                      {"largest", std::int64_t{1}},
                      {"sorted", std::int64_t{1}}},
       .infer = infer_top_k,
       .upgrade = upgrade_top_k},
  };
}

}  // namespace sluice::ops
