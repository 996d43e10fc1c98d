// Attention, QAttention, MultiHeadAttention and RotaryEmbedding of com.microsoft.
#include <limits>

#include "ops/contrib/heads.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

/// What masks of keys are about: batch entries, and the axes whose lengths add up to all keys.
struct Keys {
  ir::Dim batch;
  std::vector<std::pair<OperandId, std::int64_t>> lengths;
};

/// Numbers to add to scores where `is_hidden`, [B, T] or [B, S, T]; `axes` are put into it.
Result<OperandId> additive(Lowering& op, OperandId is_hidden, const Ints& axes) {
  const OperandId filter = SLUICE_TRY(op.number(op.float_of("mask_filter_value", -10000.0F)));
  const OperandId nothing = SLUICE_TRY(op.number(0));
  const OperandId mask = SLUICE_TRY(op.emit("Where", {is_hidden, filter, nothing}));
  return op.emit("Unsqueeze", {mask, op.ints(axes)});
}

/// Places 0, 1, ... of all keys.
Result<OperandId> key_places(Lowering& op, const Keys& keys) {
  OperandId total;
  for (const auto& [tensor, axis] : keys.lengths) {
    total = SLUICE_TRY(sum_of(op, total, SLUICE_TRY(op.axis_length(tensor, axis))));
  }
  return op.count_up(total);
}

/// Which keys lie behind the end of their batch entry, or before its start: the ends [B], or ends
/// and starts, one after the other, [2 * B].
Result<OperandId> outside_of(Lowering& op, std::size_t index, const Keys& keys) {
  const ir::Dim given = SLUICE_TRY(op.size(index, 0));
  OperandId ends = SLUICE_TRY(op.cast(op.input(index), ir::ElementType::kI64)), starts;
  if (given == keys.batch * 2 && given != keys.batch) {
    const auto halves =
        SLUICE_TRY(op.emit_many("Split", {ends}, 2, {{"num_outputs", std::int64_t{2}}}));
    ends = halves[0];
    starts = halves[1];
  } else if (given != keys.batch && given.is_known() && keys.batch.is_known()) {
    return unimplemented("a mask of {} numbers for {} batch entries; give one or two for each",
                         given.to_string(), keys.batch.to_string());
  }
  const OperandId places = SLUICE_TRY(key_places(op, keys));
  const auto column = [&](OperandId x) { return op.emit("Unsqueeze", {x, op.ints({1})}); };
  const OperandId behind =
      SLUICE_TRY(op.emit("GreaterOrEqual", {places, SLUICE_TRY(column(ends))}));
  if (!starts.is_valid()) return behind;
  return op.emit("Or", {behind, SLUICE_TRY(op.emit("Less", {places, SLUICE_TRY(column(starts))}))});
}

/// Masks of integers, 0 where a key must not be seen, [B, T] or [B, S, T]; or lengths.
Result<OperandId> padding_mask(Lowering& op, std::size_t index, const Keys& keys) {
  if (!op.has(index)) return OperandId();
  const std::size_t rank = SLUICE_TRY(op.rank(index));
  if (rank == 1) return additive(op, SLUICE_TRY(outside_of(op, index, keys)), {1, 2});
  if (rank != 2 && rank != 3) {
    return unimplemented("a mask of rank {} is not supported; give one of rank 1 to 3", rank);
  }
  const OperandId wide = SLUICE_TRY(op.cast(op.input(index), ir::ElementType::kI64));
  const OperandId is_hidden = SLUICE_TRY(op.emit("Equal", {wide, op.integer(0)}));
  return additive(op, is_hidden, rank == 2 ? Ints{1, 2} : Ints{1});
}

struct Parts {
  OperandId q = {}, k = {}, v = {};  ///< [B, H, S, D]
  OperandId mask = {};
};

Lowering::AttributeList attributes_of(const Lowering& op) {
  return {{"scale", op.float_of("scale")}, {"is_causal", op.int_of("unidirectional")}};
}

/// Parts packed side by side before the last axis, [B, S, H, parts, D]: each as [B, H, S, D].
Result<std::vector<OperandId>> unpack(Lowering& op, std::size_t index, std::int64_t heads,
                                      std::int64_t parts) {
  const auto shape = SLUICE_TRY(op.shape(index));
  if (shape.size() != 5 || !shape[2].is(heads) || !shape[3].is(parts)) {
    return op.error("input {} is {}; it must be [batch, length, {}, {}, size] or of rank 3", index,
                    ir::shape_to_string(shape), heads, parts);
  }
  if (op.has(3)) return unimplemented("a bias of packed heads is not supported; add it before");
  const auto pieces =
      SLUICE_TRY(op.emit_many("Split", {op.input(index)}, static_cast<std::size_t>(parts),
                              {{"axis", std::int64_t{3}}, {"num_outputs", parts}}));
  std::vector<OperandId> heads_of_parts;
  for (const OperandId piece : pieces) {
    const OperandId flat = SLUICE_TRY(op.emit("Squeeze", {piece, op.ints({3})}));
    heads_of_parts.push_back(
        SLUICE_TRY(op.emit("Transpose", {flat}, {{"perm", Ints{0, 2, 1, 3}}})));
  }
  return heads_of_parts;
}

/// Queries, keys and values, each of its own, with their part of the bias.
Result<Parts> split_parts(Lowering& op, std::int64_t heads) {
  Parts parts;
  OperandId* const targets[] = {&parts.q, &parts.k, &parts.v};
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t rank = SLUICE_TRY(op.rank(i));
    OperandId x = op.input(i);
    if (rank == 4 && i > 0 && !op.has(3)) {  // keys and values of a cache
      *targets[i] = x;
      continue;
    }
    if (rank != 3) return op.error("input {} has rank {}; it must be 3", i, rank);
    if (op.has(3)) {
      const std::int64_t columns = SLUICE_TRY(op.dim(i, 2));
      const OperandId own =
          SLUICE_TRY(op.emit("Slice", {op.input(3), op.ints({begin}), op.ints({begin + columns})}));
      x = SLUICE_TRY(op.emit("Add", {x, own}));
      begin += columns;
    }
    *targets[i] = SLUICE_TRY(split_heads(op, x, heads));
  }
  return parts;
}

/// Reads the forms that MultiHeadAttention takes: all packed, keys and values packed, none.
Result<Parts> read_parts(Lowering& op, std::int64_t heads) {
  if (!op.has(1)) {
    const auto all = SLUICE_TRY(unpack(op, 0, heads, 3));
    return Parts{.q = all[0], .k = all[1], .v = all[2]};
  }
  if (op.has(2)) return split_parts(op, heads);
  const auto pair = SLUICE_TRY(unpack(op, 1, heads, 2));
  const OperandId q = SLUICE_TRY(split_heads(op, op.input(0), heads));
  return Parts{.q = q, .k = pair[0], .v = pair[1]};
}

/// Whether the number of queries may differ from that of keys.
Result<bool> may_be_oblong(Lowering& op) {
  if (!op.has(1)) return false;  // packed with the queries
  const std::size_t rank = SLUICE_TRY(op.rank(1));
  const ir::Dim keys = SLUICE_TRY(op.size(1, rank == 4 ? 2 : 1));
  return keys != SLUICE_TRY(op.size(0, 1));
}

/// Numbers to add to scores [S, T] of a unidirectional call without a past, as onnxruntime has
/// them: query i sees the keys up to i, but the last query sees all. So a graph that joins its
/// cache itself can ask with one query.
Result<OperandId> oblong_mask(Lowering& op, const Parts& parts) {
  const OperandId keys = SLUICE_TRY(key_places(op, {.batch = {}, .lengths = {{parts.k, 2}}}));
  const OperandId queries = SLUICE_TRY(key_places(op, {.batch = {}, .lengths = {{parts.q, 2}}}));
  const OperandId rows = SLUICE_TRY(op.emit("Unsqueeze", {queries, op.ints({1})}));
  const OperandId count = SLUICE_TRY(op.emit("Shape", {queries}));
  const OperandId last = SLUICE_TRY(op.emit("Sub", {count, op.ints({1})}));
  const OperandId is_behind = SLUICE_TRY(op.emit("Greater", {keys, rows}));
  const OperandId is_hidden =
      SLUICE_TRY(op.emit("And", {is_behind, SLUICE_TRY(op.emit("Less", {rows, last}))}));
  const OperandId hides = SLUICE_TRY(op.number(std::numeric_limits<float>::lowest()));
  return op.emit("Where", {is_hidden, hides, SLUICE_TRY(op.number(0))});
}

Status lower_multi_head(Lowering& op) {
  Parts parts = SLUICE_TRY(read_parts(op, SLUICE_TRY(count_heads(op))));
  Lowering::AttributeList attributes = attributes_of(op);
  Keys keys = {.batch = SLUICE_TRY(op.size(0, 0)), .lengths = {{parts.k, 2}}};
  if (op.has(6)) keys.lengths.emplace_back(op.input(6), 2);
  parts.mask = SLUICE_TRY(sum_of(op, SLUICE_TRY(padding_mask(op, 4, keys)), op.input(5)));
  for (const std::size_t i : {8, 9}) {
    if (op.has(i)) return unimplemented("input {} is not supported", i);
  }
  if (op.int_of("unidirectional") != 0 && !op.has(6) && SLUICE_TRY(may_be_oblong(op))) {
    parts.mask = SLUICE_TRY(sum_of(op, parts.mask, SLUICE_TRY(oblong_mask(op, parts))));
    attributes = {{"scale", op.float_of("scale")}};
  }
  const Lowering::Inputs inputs = {parts.q, parts.k, parts.v, parts.mask, op.input(6), op.input(7)};
  OperandId y;
  if (op.wants(1) || op.wants(2)) {
    const auto made = SLUICE_TRY(op.emit_many("Attention", inputs, 3, attributes, "sluice"));
    y = made[0];
    if (op.wants(1)) SLUICE_TRY(op.finish("Identity", {made[1]}, {}, {1}));
    if (op.wants(2)) SLUICE_TRY(op.finish("Identity", {made[2]}, {}, {2}));
  } else {
    y = SLUICE_TRY(op.emit("Attention", inputs, attributes, "sluice"));
  }
  return finish_heads(op, y);
}

/// Rows of queries, keys and values side by side [B, S, 3 * H * D], with a mask, a past of keys and
/// values stacked [2, B, H, P, D], and numbers to add to the scores: inputs by place.
Status finish_packed(Lowering& op, OperandId rows, std::size_t mask, std::size_t past,
                     std::size_t bias) {
  const std::int64_t heads = SLUICE_TRY(count_heads(op));
  for (const char* name : {"do_rotary", "past_present_share_buffer"}) {
    if (op.int_of(name) != 0) return unimplemented("attribute \"{}\"", name);
  }
  const Ints sizes = op.operation().attributes.get_or<Ints>("qkv_hidden_sizes", {});
  if (!sizes.empty() && sizes.size() != 3) {
    return op.error("attribute \"qkv_hidden_sizes\" has {} entries; it needs 3", sizes.size());
  }
  Lowering::AttributeList split = {{"axis", std::int64_t{2}}};
  if (sizes.empty()) split.emplace_back("num_outputs", std::int64_t{3});
  const OperandId lengths = sizes.empty() ? OperandId() : op.ints(sizes);
  const auto parts = SLUICE_TRY(op.emit_many("Split", {rows, lengths}, 3, split));
  Lowering::Inputs inputs;
  for (const OperandId part : parts) inputs.push_back(SLUICE_TRY(split_heads(op, part, heads)));
  Keys keys = {.batch = SLUICE_TRY(op.size(0, 0)), .lengths = {{op.input(0), 1}}};
  if (op.has(past)) keys.lengths.emplace_back(op.input(past), 3);
  const OperandId hidden = SLUICE_TRY(padding_mask(op, mask, keys));
  inputs.push_back(SLUICE_TRY(sum_of(op, hidden, op.input(bias))));
  for (const std::int64_t side : {0, 1}) {
    if (!op.has(past)) break;
    inputs.push_back(SLUICE_TRY(op.emit("Gather", {op.input(past), op.integer(side)})));
  }
  if (!op.wants(1)) {
    return finish_heads(op, SLUICE_TRY(op.emit("Attention", inputs, attributes_of(op), "sluice")));
  }
  const auto made = SLUICE_TRY(op.emit_many("Attention", inputs, 3, attributes_of(op), "sluice"));
  const OperandId k = SLUICE_TRY(op.emit("Unsqueeze", {made[1], op.ints({0})}));
  const OperandId v = SLUICE_TRY(op.emit("Unsqueeze", {made[2], op.ints({0})}));
  SLUICE_TRY(op.finish("Concat", {k, v}, {{"axis", std::int64_t{0}}}, {1}));
  return finish_heads(op, made[0]);
}

/// input, weights, bias, mask_index, past, attention_bias
Status lower_attention(Lowering& op) {
  const OperandId product = SLUICE_TRY(op.emit("MatMul", {op.input(0), op.input(1)}));
  return finish_packed(op, SLUICE_TRY(op.plus(product, 2)), 3, 4, 5);
}

/// input, weight, bias, their scales, mask_index, their zero points, past
Status lower_q_attention(Lowering& op) {
  const OperandId sum =
      SLUICE_TRY(op.emit("MatMulInteger", {op.input(0), op.input(1), op.input(6), op.input(7)}));
  const OperandId wide = SLUICE_TRY(op.cast(sum, ir::ElementType::kF32));
  const OperandId scale = SLUICE_TRY(op.emit("Mul", {op.input(3), op.input(4)}));
  const OperandId scaled = SLUICE_TRY(op.emit("Mul", {wide, scale}));
  constexpr std::size_t kAbsent = 100;
  return finish_packed(op, SLUICE_TRY(op.plus(scaled, 2)), 5, 8, kAbsent);
}

/// input, position_ids, cos_cache, sin_cache
Status lower_rotary(Lowering& op) {
  const auto shape = SLUICE_TRY(op.shape(0));
  if (shape.size() != 3 && shape.size() != 4) {
    return op.error("input has rank {}; it must be 3 or 4", shape.size());
  }
  if (op.float_of("scale", 1) != 1.0F || op.int_of("is_packed_batching") != 0) {
    return unimplemented("attributes \"scale\" and \"is_packed_batching\"");
  }
  std::int64_t heads = op.int_of("num_heads");
  if (shape.size() == 3 && heads == 0) {
    const std::int64_t half = SLUICE_TRY(op.dim(2, 1));
    const std::int64_t columns = SLUICE_TRY(op.dim(0, 2));
    if (half < 1 || columns % (2 * half) != 0) {
      return op.error("{} columns cannot be divided into heads of {}", columns, 2 * half);
    }
    heads = columns / (2 * half);
  }
  OperandId places = op.input(1);
  if (SLUICE_TRY(op.rank(1)) == 1) {  // the place of the first row; others follow it
    const std::int64_t axis = shape.size() == 3 ? 1 : 2;
    const OperandId length = SLUICE_TRY(op.axis_length(op.input(0), axis));
    const OperandId row = SLUICE_TRY(op.emit("Add", {places, SLUICE_TRY(op.count_up(length))}));
    const OperandId batch = SLUICE_TRY(op.axis_length(op.input(0), 0));
    const OperandId whole =
        SLUICE_TRY(op.emit("Concat", {batch, length}, {{"axis", std::int64_t{0}}}));
    places = SLUICE_TRY(op.emit("Expand", {row, whole}));
  }
  return op.finish("RotaryEmbedding", {op.input(0), op.input(2), op.input(3), places},
                   {{"interleaved", op.int_of("interleaved")},
                    {"num_heads", heads},
                    {"rotary_embedding_dim", op.int_of("rotary_embedding_dim")}});
}

}  // namespace

std::vector<LoweredOperator> lowered_attention() {
  const std::int64_t no = 0;
  const OperandSpec x = {"input", kFloats, "T"}, maybe = {"optional", kFloats, "T", true};
  const OperandSpec mask = {"mask", kIndices, "", true};
  const OperandSpec bytes = {"bytes", kInts}, zero = {"zero_point", kInts, "", true};
  const OperandSpec scale = {"scale", kFloats}, numbers = {"optional", kInts, "", true};
  const std::vector<AttributeSpec> own = {{"num_heads", no, true},
                                          {"unidirectional", no},
                                          {"scale", 0.0F},
                                          {"mask_filter_value", -10000.0F}};
  return {
      {"Attention",
       "heads of a product, attention over them, joined",
       {x, x, maybe, mask, maybe, maybe, numbers},
       {"output", "present"},
       own,
       lower_attention},
      {"QAttention",
       "Attention over quantized rows and weights",
       {bytes, bytes, x, scale, scale, mask, zero, zero, maybe},
       {"output", "present"},
       own,
       lower_q_attention},
      {"MultiHeadAttention",
       "attention over heads, joined",
       {x, maybe, maybe, maybe, mask, maybe, maybe, maybe, numbers, numbers},
       {"output", "present_key", "present_value", "qk"},
       own,
       lower_multi_head},
      {"RotaryEmbedding",
       "ONNX's, with inputs in another order",
       {x, {"position_ids", kI64Only}, x, x},
       {"output"},
       {{"interleaved", no}, {"num_heads", no}, {"rotary_embedding_dim", no}, {"scale", 1.0F}},
       lower_rotary},
  };
}

}  // namespace sluice::ops
