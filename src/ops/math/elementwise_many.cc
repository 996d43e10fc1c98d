// Any number of broadcast inputs, or inputs with roles: Max, Sum, Where, Clip, PRelu.
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

using Operands = std::span<const ir::Dim>;
using MaybeDim = std::optional<ir::Dim>;

template <ir::Dim (*kFunction)(const ir::Dim&, const ir::Dim&)>
MaybeDim fold(Operands x) {
  ir::Dim result = x[0];
  for (const ir::Dim& other : x.subspan(1)) result = kFunction(result, other);
  return result;
}

template <ir::Dim (*kFunction)(const ir::Dim&, const ir::Dim&)>
Status infer_fold(InferenceContext& context) {
  SLUICE_TRY(infer_broadcast(context));
  map_values(context, fold<kFunction>);
  return ok_status();
}

/// A condition that is known picks a value, which may itself be a symbol.
MaybeDim choose(Operands x) {
  return x[0].is_known() ? MaybeDim(x[0].is(0) ? x[2] : x[1]) : std::nullopt;
}

Status infer_where(InferenceContext& context) {
  SLUICE_TRY(infer_broadcast(context));
  context.set_output(0, context.output(0).with_element(context.element(1)));
  map_values(context, choose);
  return ok_status();
}

/// Only the slope broadcasts; X keeps its shape.
Status infer_prelu(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  const ir::Shape* x = context.shape(0);
  const ir::Shape* slope = context.shape(1);
  if (x == nullptr || slope == nullptr) return ok_status();
  const auto both = broadcast_shapes(*x, *slope);
  if (!both.is_ok()) return context.error("{}", both.status().message());
  bool stretches_x = both->size() != x->size();
  for (std::size_t i = 0; i < x->size() && !stretches_x; ++i) {
    const ir::Dim& joined = (*both)[i];  // a symbol may turn out to be 1
    stretches_x = (*x)[i].is(1) && joined.is_known() && !joined.is(1);
  }
  if (!stretches_x) return ok_status();
  return context.error("slope {} does not broadcast to {}", ir::shape_to_string(*slope),
                       ir::shape_to_string(*x));
}

/// Before version 7 a slope of more than one element lay along axis 1.
Status upgrade_prelu(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version >= 7) return ok_status();
  const ir::Shape* slope = declared_rank(subgraph, operation.input(1))
                               ? subgraph.operand(operation.input(1)).type.shape()
                               : nullptr;
  const auto rank = declared_rank(subgraph, operation.input(0));
  if (slope == nullptr || !rank) {
    return unimplemented("{}: a slope along axis 1 of an input of undeclared rank",
                         operation.describe());
  }
  // [C] becomes [C, 1, ...], which broadcasts along axis 1. For rank 2 it already does.
  const bool is_per_channel = slope->size() == 1 && !slope->front().is(1) && *rank > 2;
  if (is_per_channel) append_ones(subgraph, operation, 1, *rank - 2);
  return upgrade_unchanged(subgraph, operation);
}

Status upgrade_clip(ir::Subgraph& subgraph, ir::Operation& operation) {
  // Bounds were attributes; now they are inputs of the data's type.
  if (operation.version >= 11) return ok_status();
  attribute_to_input_like_data(subgraph, operation, "min", 1);
  attribute_to_input_like_data(subgraph, operation, "max", 2);
  operation.version = 13;
  return ok_status();
}

OpSchema variadic(std::string_view name, std::vector<int> versions, TypeSet types,
                  std::string_view doc, InferFn infer = infer_broadcast) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "data", .types = types, .variable = "T", .is_variadic = true}},
          .outputs = {{.name = "result", .types = types, .variable = "T"}},
          .infer = infer,
          .traits = kElementwise};
}

OpSchema clip() {
  const auto bound = [](std::string_view name) {
    return OperandSpec{
        .name = name, .types = kNumbers, .variable = "T", .is_optional = true, .is_single = true};
  };
  return {
      .name = "Clip",
      .versions = {6, 11, 12, 13},
      .doc = "min(max(x, lower), upper)",
      .inputs = {{.name = "input", .types = kNumbers, .variable = "T"}, bound("min"), bound("max")},
      .outputs = {{.name = "output", .types = kNumbers, .variable = "T"}},
      .infer = infer_same_as_input,
      .traits = kElementwise,
      .upgrade = upgrade_clip};
}

OpSchema prelu() {
  constexpr TypeSet kTypes = kFloats | kInts;
  return {.name = "PRelu",
          .versions = {6, 7, 9, 16},
          .doc = "x if x >= 0, else slope * x",
          .inputs = {{.name = "X", .types = kTypes, .variable = "T"},
                     {.name = "slope", .types = kTypes, .variable = "T"}},
          .outputs = {{.name = "Y", .types = kTypes, .variable = "T"}},
          .infer = infer_prelu,
          .traits = kElementwise,
          .upgrade = upgrade_prelu};
}

OpSchema where() {
  return {.name = "Where",
          .versions = {9, 16},
          .doc = "X where the condition holds, else Y",
          .inputs = {{.name = "condition", .types = kBools},
                     {.name = "X", .types = kAllTensors, .variable = "T"},
                     {.name = "Y", .types = kAllTensors, .variable = "T"}},
          .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
          .infer = infer_where,
          .traits = kElementwise};
}

}  // namespace

std::vector<OpSchema> elementwise_many_ops() {
  return {
      clip(),
      variadic("Max", {6, 8, 12, 13}, kNumbers, "largest of the inputs", infer_fold<ir::max>),
      variadic("Mean", {6, 8, 13}, kFloats, "mean of the inputs"),
      variadic("Min", {6, 8, 12, 13}, kNumbers, "smallest of the inputs", infer_fold<ir::min>),
      prelu(),
      variadic("Sum", {6, 8, 13}, kFloats, "sum of the inputs"),
      where(),
  };
}

}  // namespace sluice::ops
