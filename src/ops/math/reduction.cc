// Reductions over axes: ReduceSum and its kin, ArgMax, ArgMin.
#include <algorithm>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

/// The axes to reduce; nullopt if unknown before the run.
Result<std::optional<std::vector<bool>>> reduced_axes(const InferenceContext& context,
                                                      std::size_t rank) {
  std::vector<std::int64_t> axes;
  if (context.has_input(1)) {
    const auto known = context.static_values(1);
    if (!known) return std::optional<std::vector<bool>>();
    axes = *known;
  }
  // No axes mean all of them, unless the attribute says that they mean none.
  const bool all = axes.empty() && context.int_attribute("noop_with_empty_axes") == 0;
  std::vector<bool> reduced(rank, all);
  for (const std::int64_t axis : axes) {
    reduced[SLUICE_TRY(context.axis(axis, rank))] = true;
  }
  return std::optional(std::move(reduced));
}

ir::Shape without(const ir::Shape& shape, const std::vector<bool>& reduced, bool keep_dims) {
  ir::Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) result.push_back(shape[i]);
    if (reduced[i] && keep_dims) result.push_back(1);
  }
  return result;
}

Status infer_reduce(InferenceContext& context) {
  const ir::ElementType element = context.element(0);
  const bool keep_dims = context.int_attribute("keepdims") != 0;
  const ir::Shape* shape = context.shape(0);
  if (shape == nullptr) return ok_status();
  const auto reduced = SLUICE_TRY(reduced_axes(context, shape->size()));
  if (reduced) {
    context.set_output(0, element, without(*shape, *reduced, keep_dims));
    return ok_status();
  }
  const auto rank = static_cast<std::int64_t>(shape->size());
  // With keepdims the rank stays, but which dimensions become 1 is not known.
  const auto num_axes = keep_dims ? 0 : vector_length(context, 1);
  if (num_axes && *num_axes <= rank) {
    context.set_output(0, element, unknown_shape(context, rank - *num_axes));
  }
  return ok_status();
}

using Fold = ir::Dim (*)(const ir::Dim&, const ir::Dim&);

/// The number of elements is often computed as ReduceProd(Shape(x)).
template <Fold kFold>
Status infer_reduce_with_values(InferenceContext& context) {
  SLUICE_TRY(infer_reduce(context));
  const Values* values = context.values(0);
  const ir::Shape* input = context.shape(0);
  const ir::Shape* output = context.output(0).shape();
  if (values == nullptr || values->empty() || input == nullptr || output == nullptr) {
    return ok_status();
  }
  // Only a fold of a whole vector gives one value.
  const bool is_folded = input->size() == 1 && (output->empty() || output->front().is(1));
  if (!is_folded || !ir::is_integer(context.element(0))) return ok_status();
  ir::Dim result = values->front();
  for (std::size_t i = 1; i < values->size(); ++i) result = kFold(result, (*values)[i]);
  if (!result.is_overflow()) context.set_output_values(0, {result});
  return ok_status();
}

ir::Dim add(const ir::Dim& a, const ir::Dim& b) { return a + b; }
ir::Dim multiply(const ir::Dim& a, const ir::Dim& b) { return a * b; }

Status infer_arg(InferenceContext& context) {
  const ir::Shape* shape = context.shape(0);
  if (shape == nullptr) return ok_status();
  const std::size_t axis = SLUICE_TRY(context.axis_attribute(shape->size()));
  if ((*shape)[axis].is(0)) return context.error("axis {} is empty: nothing to choose", axis);
  std::vector<bool> reduced(shape->size(), false);
  reduced[axis] = true;
  context.set_output(0, ir::ElementType::kI64,
                     without(*shape, reduced, context.int_attribute("keepdims") != 0));
  return ok_status();
}

/// `axes` was an attribute before version `kNewest` (13 for ReduceSum, 18 or 20 for the others).
template <int kSince, int kNewest>
Status upgrade_axes(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version < kSince) {
    attribute_to_input(subgraph, operation, "axes", 1);
    operation.version = kNewest;
  }
  return ok_status();
}

OpSchema reduce(std::string_view name, TypeSet types, std::string_view doc,
                InferFn infer = infer_reduce) {
  return {
      .name = name,
      .versions = {1, 11, 13, 18},
      .doc = doc,
      .inputs = {{.name = "data", .types = types, .variable = "T"},
                 {.name = "axes", .types = kI64Only, .is_optional = true, .is_shape_value = true}},
      .outputs = {{.name = "reduced", .types = types, .variable = "T"}},
      .attributes = {{.name = "keepdims", .default_value = std::int64_t{1}},
                     {.name = "noop_with_empty_axes", .default_value = std::int64_t{0}}},
      .infer = infer,
      .upgrade = upgrade_axes<18, 18>};
}

OpSchema reduce_sum() {
  OpSchema schema = reduce("ReduceSum", kNumbers, "sum", infer_reduce_with_values<add>);
  schema.versions = {1, 11, 13};
  schema.upgrade = upgrade_axes<13, 13>;
  return schema;
}

OpSchema reduce_extreme(std::string_view name, std::string_view doc, InferFn infer) {
  OpSchema schema = reduce(name, kNumbers | kBools, doc, infer);
  schema.versions = {1, 11, 12, 13, 18, 20};
  schema.upgrade = upgrade_axes<18, 20>;
  return schema;
}

OpSchema arg_extreme(std::string_view name, std::string_view doc) {
  return {.name = name,
          .versions = {1, 11, 12, 13},
          .doc = doc,
          .inputs = {{.name = "data", .types = kNumbers}},
          .outputs = {{.name = "reduced", .types = kI64Only}},
          .attributes = {{.name = "axis", .default_value = std::int64_t{0}},
                         {.name = "keepdims", .default_value = std::int64_t{1}},
                         {.name = "select_last_index", .default_value = std::int64_t{0}}},
          .infer = infer_arg};
}

}  // namespace

std::vector<OpSchema> reduction_ops() {
  OpSchema log_sum = reduce("ReduceLogSum", kNumbers, "log(sum(x))");
  OpSchema log_sum_exp = reduce("ReduceLogSumExp", kNumbers, "log(sum(exp(x)))");
  log_sum.versions.push_back(28);
  log_sum_exp.versions.push_back(28);
  return {
      arg_extreme("ArgMax", "index of the largest element along an axis"),
      arg_extreme("ArgMin", "index of the smallest element along an axis"),
      reduce("ReduceL1", kNumbers, "sum(|x|)"),
      reduce("ReduceL2", kNumbers, "sqrt(sum(x^2))"),
      std::move(log_sum),
      std::move(log_sum_exp),
      reduce_extreme("ReduceMax", "largest element", infer_reduce_with_values<ir::max>),
      reduce("ReduceMean", kNumbers, "mean"),
      reduce_extreme("ReduceMin", "smallest element", infer_reduce_with_values<ir::min>),
      reduce("ReduceProd", kNumbers, "product", infer_reduce_with_values<multiply>),
      reduce_sum(),
      reduce("ReduceSumSquare", kNumbers, "sum(x^2)"),
  };
}

}  // namespace sluice::ops
