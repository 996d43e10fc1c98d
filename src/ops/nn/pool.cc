// Pooling: windows (MaxPool, AveragePool, LpPool), whole images (Global...), and MaxUnpool.
#include <utility>

#include "ops/families.h"
#include "ops/nn/window.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kFloatsAndBytes = kFloats | TypeSet{ir::ElementType::kU8, ir::ElementType::kI8};

Status infer_pool(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  std::optional<ir::Shape> shape;
  if (data != nullptr) {
    ir::Shape kernel = kernel_shape(context);
    // Batch and channels come before the window's dimensions.
    if (data->size() < 3 || kernel.size() + 2 != data->size()) {
      return context.error("a window of rank {} does not fit input {}", kernel.size(),
                           ir::shape_to_string(*data));
    }
    const Window window = SLUICE_TRY(parse_window(context, std::move(kernel)));
    shape = ir::Shape{(*data)[0], (*data)[1]};
    for (std::size_t i = 0; i + 2 < data->size(); ++i) {
      shape->push_back(num_windows(window, i, (*data)[i + 2]));
    }
  }
  context.set_output(0, context.element(0), shape);
  // MaxPool's indices; ignored for operators without a second output.
  context.set_output(1, ir::ElementType::kI64, shape);
  return ok_status();
}

Status infer_global_pool(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  std::optional<ir::Shape> shape;
  if (data != nullptr) {
    // All dimensions behind the channels are reduced, so an input of two has nothing to pool and
    // stays.
    if (data->size() < 2) {
      return context.error("input {} has no channels", ir::shape_to_string(*data));
    }
    shape = *data;
    for (std::size_t i = 2; i < shape->size(); ++i) (*shape)[i] = 1;
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status infer_max_unpool(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::ElementType element = context.element(0);
  // output_shape decides among several sizes that pool to the same.
  if (const Values* wanted = context.values(2)) {
    context.set_output(0, element, ir::Shape(*wanted));
    return ok_status();
  }
  std::optional<ir::Shape> shape;
  if (data != nullptr && context.has_input(2)) {
    shape.emplace();
    for (std::size_t i = 0; i < data->size(); ++i) shape->push_back(context.unknown_dim());
  } else if (data != nullptr) {
    ir::Shape kernel = kernel_shape(context);
    if (kernel.size() + 2 != data->size()) {
      return context.error("a window of rank {} does not fit input {}", kernel.size(),
                           ir::shape_to_string(*data));
    }
    const Window window = SLUICE_TRY(parse_window(context, std::move(kernel)));
    shape = ir::Shape{(*data)[0], (*data)[1]};
    const std::size_t rank = window.kernel.size();
    // The inverse of num_windows, whose rounding down loses up to stride - 1 pixels.
    for (std::size_t i = 0; i < rank; ++i) {
      shape->push_back(((*data)[i + 2] - 1) * window.strides[i] + window.kernel[i] -
                       window.pads[i] - window.pads[i + rank]);
    }
  }
  context.set_output(0, element, std::move(shape));
  return ok_status();
}

/// p was a float at first.
Status upgrade_lp(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (const float* p = operation.attributes.find<float>("p")) {
    if (!(*p >= 1 && *p <= 1024) || *p != static_cast<float>(static_cast<int>(*p))) {
      return invalid_argument("{}: p is {}; it must be a whole number", operation.describe(), *p);
    }
    operation.attributes.set("p", static_cast<std::int64_t>(*p));
  }
  return upgrade_unchanged(subgraph, operation);
}

std::vector<AttributeSpec> pool_attributes(std::vector<AttributeSpec> others) {
  others.push_back({"ceil_mode", std::int64_t{0}});
  auto attributes = window_attributes(std::move(others));
  // Convolutions take the kernel's shape from the weights; pools have none.
  for (AttributeSpec& spec : attributes) spec.is_required = spec.name == "kernel_shape";
  return attributes;
}

OpSchema pool(std::string_view name, std::vector<int> versions, std::string_view doc,
              std::vector<AttributeSpec> attributes, UpgradeFn upgrade = upgrade_unchanged) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{"X", kFloats, "T"}},
          .outputs = {{"Y", kFloats, "T"}},
          .attributes = pool_attributes(std::move(attributes)),
          .infer = infer_pool,
          .upgrade = upgrade};
}

OpSchema max_pool() {
  OpSchema schema = pool("MaxPool", {1, 8, 10, 11, 12, 22}, "largest element of each window",
                         {{"storage_order", std::int64_t{0}}});
  schema.inputs[0].types = schema.outputs[0].types = kFloatsAndBytes;
  schema.outputs.push_back({"Indices", kI64Only, "I", true});
  return schema;
}

OpSchema global_pool(std::string_view name, std::vector<int> versions, std::string_view doc) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{"X", kFloats, "T"}},
          .outputs = {{"Y", kFloats, "T"}},
          .infer = infer_global_pool,
          .upgrade = upgrade_unchanged};
}

OpSchema global_lp_pool() {
  OpSchema schema = global_pool("GlobalLpPool", {1, 2, 22}, "p-norm of each channel");
  schema.attributes = {{"p", std::int64_t{2}}};
  schema.upgrade = upgrade_lp;
  return schema;
}

OpSchema max_unpool() {
  return {.name = "MaxUnpool",
          .versions = {9, 11, 22},
          .doc = "puts pooled elements back where MaxPool found them, zeros elsewhere",
          .inputs = {{"X", kFloats, "T1"},
                     {"I", kI64Only, "T2"},
                     {.name = "output_shape",
                      .types = kI64Only,
                      .variable = "T2",
                      .is_optional = true,
                      .is_shape_value = true}},
          .outputs = {{"output", kFloats, "T1"}},
          .attributes = {{"kernel_shape", std::nullopt, true},
                         {"pads", std::nullopt},
                         {"strides", std::nullopt}},
          .infer = infer_max_unpool,
          .upgrade = upgrade_unchanged};
}

}  // namespace

std::vector<OpSchema> pool_ops() {
  return {
      max_pool(),
      pool("AveragePool", {1, 7, 10, 11, 19, 22}, "mean of each window",
           {{"count_include_pad", std::int64_t{0}}}),
      pool("LpPool", {1, 2, 11, 18, 22}, "p-norm of each window", {{"p", std::int64_t{2}}},
           upgrade_lp),
      global_pool("GlobalAveragePool", {1, 22}, "mean of each channel"),
      global_pool("GlobalMaxPool", {1, 22}, "largest element of each channel"),
      global_lp_pool(),
      max_unpool(),
  };
}

}  // namespace sluice::ops
