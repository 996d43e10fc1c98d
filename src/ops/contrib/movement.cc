// Trilu, Pad, Unique, Range, ExpandDims, GridSample, GatherND, UnfoldTensor, SampleOp and CDist of
// com.microsoft.
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
  // The second output of ONNX's Unique, the places of first values, has no counterpart here.
  return op.finish("Unique", {op.input(0)}, {{"sorted", std::int64_t{0}}}, {0, -1, 1, 2});
}

Status lower_range(Lowering& op) {
  OperandId step = op.input(2);
  if (!op.has(2)) step = SLUICE_TRY(op.number(1));
  return op.finish("Range", {op.input(0), op.input(1), step});
}

Status lower_expand_dims(Lowering& op) {
  const OperandId wide = SLUICE_TRY(op.cast(op.input(1), ir::ElementType::kI64));
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

Status lower_gather_nd(Lowering& op) {
  const OperandId indices = SLUICE_TRY(op.cast(op.input(1), ir::ElementType::kI64));
  return op.finish("GatherND", {op.input(0), indices});
}

Status lower_sample(Lowering& op) { return op.finish("Identity", {op.input(0)}); }

/// Windows of `size` along one axis, which become the last axis.
Status lower_unfold(Lowering& op) {
  const auto rank = static_cast<std::int64_t>(SLUICE_TRY(op.rank(0)));
  const std::int64_t size = op.int_of("size"), step = op.int_of("step", 1);
  std::int64_t axis = op.int_of("dim", -1);
  if (axis < -rank || axis >= rank) return op.error("attribute dim is {} for {} axes", axis, rank);
  if (axis < 0) axis += rank;
  const std::int64_t length = SLUICE_TRY(op.dim(0, static_cast<std::size_t>(axis)));
  if (size < 1 || step < 1 || size > length) {
    return op.error("attributes size {} and step {} do not fit {} places", size, step, length);
  }
  const std::int64_t windows = (length - size) / step + 1;
  // The table of places is part of the model: 2^24 entries are 128 MiB.
  if (windows > (std::int64_t{1} << 24) / size) return op.error("it has too many windows");
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < windows * size; ++i) {
    places.push_back(i / size * step + i % size);
  }
  const OperandId indices = op.constant(ir::make_i64_constant(places, {windows, size}));
  const OperandId all = SLUICE_TRY(op.emit("Gather", {op.input(0), indices}, {{"axis", axis}}));
  // Gather puts the windows where the axis was, [..., windows, size, ...]. The size goes last.
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i <= rank; ++i) {
    if (i != axis + 1) order.push_back(i);
  }
  order.push_back(axis + 1);
  return op.finish("Transpose", {all}, {{"perm", order}});
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

std::vector<LoweredOperator> lookups() {
  const OperandSpec x = {"X", kAllTensors, "T"};
  return {
      {"GatherND",
       "ONNX's, under another domain",
       {x, {"indices", kIndices}},
       {"Y"},
       {},
       lower_gather_nd},
      {"SampleOp", "the same values", {x}, {"Y"}, {}, lower_sample},
      {"UnfoldTensor",
       "windows along an axis, as the last axis",
       {x},
       {"Y"},
       {{"size", std::int64_t{0}, true}, {"step", std::int64_t{1}}, {"dim", std::int64_t{-1}}},
       lower_unfold},
  };
}

}  // namespace

std::vector<LoweredOperator> lowered_movement() {
  const OperandSpec x = {"X", kAllTensors, "T"}, numbers = {"X", kNumbers, "T"};
  const std::string metric = "sqeuclidean";
  std::vector<LoweredOperator> all = lookups();
  const std::vector<LoweredOperator> others = {
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
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace sluice::ops
