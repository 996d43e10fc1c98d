// The shape of a tensor as a tensor.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

std::size_t clamp_end(std::int64_t position, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (position < 0) position = std::max(position, -signed_rank) + signed_rank;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(position, 0, signed_rank));
}

Status infer_shape(InferenceContext& context) {
  const ir::Shape* shape = context.shape(0);
  if (shape == nullptr) {
    context.set_output(0, ir::ElementType::kI64, ir::Shape{context.unknown_dim()});
    return ok_status();
  }
  const auto rank = static_cast<std::int64_t>(shape->size());
  const std::size_t start = clamp_end(context.int_attribute("start"), shape->size());
  const std::size_t end = clamp_end(context.int_attribute("end", rank), shape->size());
  Values values;
  for (std::size_t i = start; i < end; ++i) values.push_back((*shape)[i]);
  context.set_output(0, ir::ElementType::kI64, ir::Shape{static_cast<std::int64_t>(values.size())});
  context.set_output_values(0, std::move(values));
  return ok_status();
}

Status infer_size(InferenceContext& context) {
  context.set_output(0, ir::ElementType::kI64, ir::Shape{});
  const ir::Shape* shape = context.shape(0);
  if (shape == nullptr) return ok_status();
  ir::Dim count = product(*shape);
  if (count.is_overflow()) return context.error("the number of elements passes 64 bits");
  context.set_output_values(0, {std::move(count)});
  return ok_status();
}

OpSchema query(std::string_view name, std::vector<int> versions, std::string_view doc,
               InferFn infer) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "data", .types = kAllTensors}},
          .outputs = {{.name = "result", .types = kI64Only}},
          .infer = infer};
}

}  // namespace

std::vector<OpSchema> shape_query_ops() {
  OpSchema shape = query("Shape", {1, 13, 15, 19, 21, 23, 24, 25},
                         "dimensions of a tensor, or those from start to end", infer_shape);
  shape.attributes = {{.name = "start", .default_value = std::int64_t{0}}};
  return {std::move(shape),
          query("Size", {1, 13, 19, 21, 23, 24, 25}, "number of elements", infer_size)};
}

}  // namespace sluice::ops
