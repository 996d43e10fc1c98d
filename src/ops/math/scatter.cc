// A copy of a tensor with elements replaced, or combined, by index.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

Status check_reduction(const InferenceContext& context) {
  return check_choice(context, "reduction", {"none", "add", "mul", "max", "min"});
}

Status infer_scatter_elements(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  SLUICE_TRY(check_reduction(context));
  const ir::Shape* data = context.shape(0);
  const ir::Shape* indices = context.shape(1);
  const ir::Shape* updates = context.shape(2);
  if (data == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(data->size()));
  if (indices == nullptr || updates == nullptr) return ok_status();
  bool fits = indices->size() == data->size() && updates->size() == data->size();
  for (std::size_t i = 0; fits && i < data->size(); ++i) {
    const ir::Dim& limit = (*data)[i];
    const ir::Dim& used = (*indices)[i];
    // Along the axis indices may exceed the data's number: several updates may meet one element.
    const bool is_inside =
        i == axis || !limit.is_known() || !used.is_known() || used.value() <= limit.value();
    fits = is_inside && may_be_equal(used, (*updates)[i]);
  }
  if (fits) return ok_status();
  return context.error("indices {} and updates {} do not fit data {}",
                       ir::shape_to_string(*indices), ir::shape_to_string(*updates),
                       ir::shape_to_string(*data));
}

/// updates: indices.shape[:-1] + data.shape[indices.shape[-1]:].
Status infer_scatter_nd(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  SLUICE_TRY(check_reduction(context));
  const ir::Shape* data = context.shape(0);
  const ir::Shape* indices = context.shape(1);
  const ir::Shape* updates = context.shape(2);
  if (data == nullptr || indices == nullptr) return ok_status();
  if (indices->empty() || data->empty()) return context.error("data and indices need a dimension");
  const ir::Dim& depth = indices->back();
  if (!depth.is_known()) return ok_status();
  if (depth.value() < 0 || depth.value() > static_cast<std::int64_t>(data->size())) {
    return context.error("indices of {} coordinates into data {}", depth.value(),
                         ir::shape_to_string(*data));
  }
  if (updates == nullptr) return ok_status();
  // The coordinates pick a slice of data, so an update has the slice's shape.
  ir::Shape expected(indices->begin(), indices->end() - 1);
  expected.insert(expected.end(), data->begin() + depth.value(), data->end());
  if (std::equal(expected.begin(), expected.end(), updates->begin(), updates->end(),
                 ir::may_be_equal)) {
    return ok_status();
  }
  return context.error("updates must be {}, not {}", ir::shape_to_string(expected),
                       ir::shape_to_string(*updates));
}

/// A cache [batch, ..., length, ...] with update [batch, ..., count, ...] written along `axis`.
Status infer_tensor_scatter(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  SLUICE_TRY(check_choice(context, "mode", {"linear", "circular"}));
  const ir::Shape* cache = context.shape(0);
  const ir::Shape* update = context.shape(1);
  if (cache == nullptr || update == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(cache->size()));
  if (axis == 0) return context.error("axis 0 is the batch");
  bool fits = cache->size() == update->size();
  for (std::size_t i = 0; fits && i < cache->size(); ++i) {
    const ir::Dim& whole = (*cache)[i];
    const ir::Dim& part = (*update)[i];
    // Both are known where they cannot be equal. An update shorter than the cache fits its axis.
    fits = may_be_equal(whole, part) || (i == axis && part.value() <= whole.value());
  }
  if (fits) return ok_status();
  return context.error("update {} does not fit cache {}", ir::shape_to_string(*update),
                       ir::shape_to_string(*cache));
}

OpSchema scattering(std::string_view name, std::vector<int> versions, std::string_view doc,
                    InferFn infer, TypeSet index_types) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "data", .types = kAllTensors, .variable = "T"},
                     {.name = "indices", .types = index_types},
                     {.name = "updates", .types = kAllTensors, .variable = "T"}},
          .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
          .attributes = {{.name = "axis", .default_value = std::int64_t{0}},
                         {.name = "reduction", .default_value = std::string("none")}},
          .infer = infer};
}

OpSchema tensor_scatter() {
  return {.name = "TensorScatter",
          .versions = {24},
          .doc = "a cache with rows written at an index per batch entry",
          .inputs = {{.name = "past_cache", .types = kAllTensors, .variable = "T"},
                     {.name = "update", .types = kAllTensors, .variable = "T"},
                     {.name = "write_indices", .types = kI64Only, .is_optional = true}},
          .outputs = {{.name = "present_cache", .types = kAllTensors, .variable = "T"}},
          .attributes = {{.name = "axis", .default_value = std::int64_t{-2}},
                         {.name = "mode", .default_value = std::string("linear")}},
          .infer = infer_tensor_scatter};
}

}  // namespace

std::vector<OpSchema> scatter_ops() {
  return {
      scattering("Scatter", {9, 11}, "ScatterElements under its old name", infer_scatter_elements,
                 kIndices),
      scattering("ScatterElements", {11, 13, 16, 18}, "elements along an axis replaced by index",
                 infer_scatter_elements, kIndices),
      scattering("ScatterND", {11, 13, 16, 18}, "slices replaced by coordinates", infer_scatter_nd,
                 kI64Only),
      tensor_scatter(),
  };
}

}  // namespace sluice::ops
