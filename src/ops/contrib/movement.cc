// Trilu, Pad, Unique, Range, ExpandDims, GridSample and CDist of com.microsoft.
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;

Status lower_trilu(Lowering& op) {
  return op.finish("Trilu", op.operation().inputs, {{"upper", op.int_of("upper", 1)}});
}

Status lower_pad(Lowering& op) {
  const auto mode = op.operation().attributes.get_or<std::string>("mode", "constant");
  return op.finish("Pad", {op.input(0), op.input(1), op.input(2)}, {{"mode", mode}});
}

/// Values in the order of their first place, the place of each element's value, and counts.
Status lower_unique(Lowering& op) {
  return op.finish("Unique", {op.input(0)}, {{"sorted", std::int64_t{0}}}, {0, -1, 1, 2});
}

Status lower_range(Lowering& op) {
  OperandId step = op.input(2);
  if (!op.has(2)) step = SLUICE_TRY(op.number(1));
  return op.finish("Range", {op.input(0), op.input(1), step});
}

Status lower_expand_dims(Lowering& op) {
  const OperandId wide = SLUICE_TRY(
      op.emit("Cast", {op.input(1)}, {{"to", static_cast<std::int64_t>(ir::ElementType::kI64)}}));
  const OperandId axes = SLUICE_TRY(op.emit("Reshape", {wide, op.ints({1})}));
  return op.finish("Unsqueeze", {op.input(0), axes});
}

Status lower_grid_sample(Lowering& op) {
  const auto& all = op.operation().attributes;
  auto mode = all.get_or<std::string>("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return op.finish("GridSample", {op.input(0), op.input(1)},
                   {{"mode", mode},
                    {"padding_mode", all.get_or<std::string>("padding_mode", "zeros")},
                    {"align_corners", op.int_of("align_corners")}});
}

/// Pairwise distances between rows of A and rows of B.
Status lower_cdist(Lowering& op) {
  const auto metric = op.operation().attributes.get_or<std::string>("metric", "sqeuclidean");
  const bool is_rooted = metric == "euclidean";
  if (!is_rooted && metric != "sqeuclidean") {
    return op.error("attribute \"metric\" is \"{}\"; it is euclidean or sqeuclidean", metric);
  }
  const Lowering::Inputs rows = {op.input(0), op.input(1)};
  if (!is_rooted) return op.finish("SquaredDistances", rows, {}, {0}, "sluice");
  return op.finish("Sqrt", {SLUICE_TRY(op.emit("SquaredDistances", rows, {}, "sluice"))});
}

}  // namespace

std::vector<LoweredOperator> lowered_movement() {
  const OperandSpec x = {"X", kAllTensors, "T"}, numbers = {"X", kNumbers, "T"};
  const std::string metric = "sqeuclidean";
  return {
      {"Trilu",
       "ONNX's, under another domain",
       {x, {"k", kI64Only, "", true}},
       {"Y"},
       {{"upper", std::int64_t{1}}},
       lower_trilu},
      {"Pad",
       "ONNX's, under another domain",
       {x, {"pads", kI64Only, "", false, false, true}, {"value", kAllTensors, "T", true}},
       {"Y"},
       {{"mode", std::string("constant")}},
       lower_pad},
      {"Unique",
       "distinct values in order of appearance",
       {numbers},
       {"y", "idx", "counts"},
       {},
       lower_unique},
      {"Range",
       "ONNX's, with a default delta of 1",
       {{"start", kNumbers, "T", false, false, true},
        {"limit", kNumbers, "T", false, false, true},
        {"delta", kNumbers, "T", true, false, true}},
       {"Y"},
       {},
       lower_range},
      {"ExpandDims",
       "Unsqueeze at one axis",
       {x, {"axis", kIndices, "", false, false, true}},
       {"Y"},
       {},
       lower_expand_dims},
      {"GridSample",
       "ONNX's, with modes under old names",
       {numbers, {"Grid", kFloats}},
       {"Y"},
       {},
       lower_grid_sample},
      {"CDist",
       "distances between rows",
       {{"A", kFloats, "T"}, {"B", kFloats, "T"}},
       {"C"},
       {{"metric", metric}},
       lower_cdist},
  };
}

}  // namespace sluice::ops
