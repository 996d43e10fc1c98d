// Elements picked by index.
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

/// data[indices] for a vector of known values, all indices in range.
void gather_values(InferenceContext& context) {
  const Values* data = context.values(0);
  const auto indices = context.static_values(1);
  if (data == nullptr || !indices || context.output(0).shape()->size() > 1) return;
  Values result;
  for (const std::int64_t index : *indices) {
    const auto position = normalize_axis(index, data->size());
    if (!position.is_ok()) return;
    result.push_back((*data)[static_cast<std::size_t>(*position)]);
  }
  context.set_output_values(0, std::move(result));
}

Status infer_gather(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* indices = context.shape(1);
  if (data == nullptr || indices == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(data->size()));
  const auto middle = data->begin() + static_cast<std::ptrdiff_t>(axis);
  // The axis gives way to the dimensions of the indices: [0, axis) + indices + (axis, rank).
  ir::Shape result(data->begin(), middle);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), middle + 1, data->end());
  context.set_output(0, context.element(0), std::move(result));
  if (data->size() == 1) gather_values(context);
  return ok_status();
}

Status infer_gather_elements(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* indices = context.shape(1);
  if (indices == nullptr) return ok_status();
  context.set_output(0, context.element(0), *indices);
  if (data == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(data->size()));
  bool fits = data->size() == indices->size();
  for (std::size_t i = 0; fits && i < data->size(); ++i) {
    // Along the axis there may be any number of indices. Other axes may be cut, not extended.
    const ir::Dim& limit = (*data)[i];
    const ir::Dim& used = (*indices)[i];
    fits = i == axis || !limit.is_known() || !used.is_known() || used.value() <= limit.value();
  }
  if (fits) return ok_status();
  return context.error("indices {} reach out of data {}", ir::shape_to_string(*indices),
                       ir::shape_to_string(*data));
}

Status infer_gather_nd(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* indices = context.shape(1);
  if (data == nullptr || indices == nullptr) return ok_status();
  const std::int64_t batch = context.int_attribute("batch_dims");
  const auto limit = static_cast<std::int64_t>(std::min(data->size(), indices->size()));
  if (batch < 0 || batch >= limit) {
    return context.error("batch_dims {} must be below the ranks of data and indices", batch);
  }
  const ir::Dim& depth = indices->back();
  if (!depth.is_known()) return ok_status();
  const auto data_rank = static_cast<std::int64_t>(data->size());
  if (depth.value() < 1 || depth.value() > data_rank - batch) {
    return context.error("indices of {} coordinates into data {} with batch_dims {}", depth.value(),
                         ir::shape_to_string(*data), batch);
  }
  // Coordinates replace that many axes behind the batch.
  ir::Shape result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), data->begin() + batch + depth.value(), data->end());
  context.set_output(0, context.element(0), std::move(result));
  return ok_status();
}

OpSchema gathering(std::string_view name, std::vector<int> versions, std::string_view doc,
                   InferFn infer, TypeSet index_types, std::string_view attribute) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "data", .types = kAllTensors, .variable = "T"},
                     {.name = "indices", .types = index_types}},
          .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
          .attributes = {{.name = attribute, .default_value = std::int64_t{0}}},
          .infer = infer};
}

}  // namespace

std::vector<OpSchema> gather_ops() {
  return {
      gathering("Gather", {1, 11, 13}, "slices along an axis, picked by index", infer_gather,
                kIndices, "axis"),
      gathering("GatherElements", {11, 13}, "elements along an axis, picked by index",
                infer_gather_elements, kIndices, "axis"),
      gathering("GatherND", {11, 12, 13}, "slices picked by coordinates", infer_gather_nd, kI64Only,
                "batch_dims"),
  };
}

}  // namespace sluice::ops
