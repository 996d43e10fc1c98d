// GroupQueryAttention of com.microsoft: what exporters of language models write for a decoder with
// rotary positions and a cache of keys and values.
//
// Inputs: query [B, S, H * D], or all packed [B, S, (H + 2 K) * D]; key and value [B, S, K * D];
// past_key and past_value [B, K, P, D]; seqlens_k [B], the keys of each batch entry less 1;
// total_sequence_length T, their maximum; cos_cache and sin_cache; position_ids [B, S];
// attention_bias [B or 1, H or 1, S, T]; head_sink [H]; k_scale, v_scale of a quantized cache,
// which is not supported; weights of the norms of each head of queries and keys [D].
//
// If S = T there is no past. Otherwise the last S keys of each entry are new: they are written
// after the past keys into a cache of max(P, T) rows, which is also an output. A cache with P > T
// thus remains one buffer for a whole conversation.
#include <limits>

#include "ops/contrib/heads.h"

namespace sluice::ops {
namespace {

using ir::ElementType;
using ir::OperandId;

enum Input : std::size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};

/// Lengths as vectors of i64, of one element unless something else is said.
struct Lengths {
  OperandId count;   ///< S
  OperandId total;   ///< T
  OperandId past;    ///< [B], keys before the new ones
  OperandId places;  ///< of the cache
};

struct GroupQuery {
  std::int64_t heads = 0, kv_heads = 0, size = 0;
  OperandId q, k, v;  ///< [B, S, heads * size]
  Lengths lengths;
};

/// Places of the new rows: [B, S].
Result<OperandId> new_places(Lowering& op, const Lengths& lengths) {
  const OperandId first = SLUICE_TRY(op.emit("Unsqueeze", {lengths.past, op.ints({1})}));
  return op.emit("Add", {first, SLUICE_TRY(op.count_up(lengths.count))});
}

Status check_supported(const Lowering& op) {
  for (const std::size_t i : {std::size_t{kKeyScale}, std::size_t{kValueScale}}) {
    if (op.has(i)) return unimplemented("input {}: a quantized cache is not supported", i);
  }
  if (op.has(kQueryNorm) != op.has(kKeyNorm)) {
    return op.error("q_norm_weight and k_norm_weight come together");
  }
  for (const char* name : {"qk_output", "kv_cache_bit_width", "sliding_window_cache"}) {
    if (op.int_of(name) > 0) return unimplemented("attribute \"{}\" is not supported", name);
  }
  if (op.has(kPastKey) != op.has(kPastValue))
    return op.error("past_key and past_value come together");
  if (op.has(kKey) != op.has(kValue)) return op.error("key and value come together");
  return ok_status();
}

Status read_rows(Lowering& op, GroupQuery& group) {
  group.heads = SLUICE_TRY(count_heads(op));
  group.kv_heads = SLUICE_TRY(count_heads(op, "kv_num_heads"));
  const std::int64_t columns = SLUICE_TRY(op.dim(kQuery, 2));
  const bool is_packed = !op.has(kKey);
  const std::int64_t in_row = group.heads + (is_packed ? 2 * group.kv_heads : 0);
  group.size = columns / in_row;
  if (group.size < 1 || columns % in_row != 0 || group.heads % group.kv_heads != 0) {
    return op.error("{} columns cannot be {} heads, of which {} are of keys", columns, in_row,
                    group.kv_heads);
  }
  group.q = op.input(kQuery);
  group.k = op.input(kKey);
  group.v = op.input(kValue);
  if (!is_packed) return ok_status();
  const std::int64_t kv_columns = group.kv_heads * group.size;
  const auto parts = SLUICE_TRY(
      op.emit_many("Split", {group.q, op.ints({group.heads * group.size, kv_columns, kv_columns})},
                   3, {{"axis", std::int64_t{2}}}));
  group.q = parts[0];
  group.k = parts[1];
  group.v = parts[2];
  return ok_status();
}

Result<Lengths> read_lengths(Lowering& op) {
  Lengths lengths;
  lengths.count = SLUICE_TRY(op.axis_length(op.input(kQuery), 1));
  const OperandId total = SLUICE_TRY(op.cast(op.input(kTotal), ElementType::kI64));
  lengths.total = SLUICE_TRY(op.emit("Reshape", {total, op.ints({1})}));
  const OperandId last = SLUICE_TRY(op.cast(op.input(kLengths), ElementType::kI64));
  const OperandId flat = SLUICE_TRY(op.emit("Reshape", {last, op.ints({-1})}));
  const OperandId keys = SLUICE_TRY(op.emit("Add", {flat, op.ints({1})}));
  const OperandId before = SLUICE_TRY(op.emit("Sub", {keys, lengths.count}));
  const OperandId is_start = SLUICE_TRY(op.emit("Equal", {lengths.count, lengths.total}));
  lengths.past = SLUICE_TRY(op.emit("Where", {is_start, op.ints({0}), before}));
  lengths.places = lengths.total;
  if (op.has(kPastKey)) {
    const OperandId held = SLUICE_TRY(op.axis_length(op.input(kPastKey), 2));
    lengths.places = SLUICE_TRY(op.emit("Max", {held, lengths.total}));
  }
  return lengths;
}

/// Queries and keys, each head divided by its root mean square and multiplied by weights.
Status normalize_heads(Lowering& op, GroupQuery& group) {
  if (!op.has(kQueryNorm)) return ok_status();
  const auto norm = [&](OperandId x, std::int64_t heads, std::size_t weights) -> Result<OperandId> {
    const OperandId apart = SLUICE_TRY(op.emit("Reshape", {x, op.ints({0, 0, heads, group.size})}));
    const OperandId y = SLUICE_TRY(
        op.emit("RMSNormalization", {apart, op.input(weights)},
                {{"axis", std::int64_t{-1}}, {"epsilon", op.float_of("qk_norm_epsilon", 1e-6F)}}));
    return op.emit("Reshape", {y, op.ints({0, 0, heads * group.size})});
  };
  group.q = SLUICE_TRY(norm(group.q, group.heads, kQueryNorm));
  group.k = SLUICE_TRY(norm(group.k, group.kv_heads, kKeyNorm));
  return ok_status();
}

Status rotate(Lowering& op, GroupQuery& group) {
  if (op.int_of("do_rotary") == 0) return ok_status();
  if (!op.has(kCos) || !op.has(kSin)) return op.error("do_rotary needs cos_cache and sin_cache");
  const std::int64_t turned = 2 * SLUICE_TRY(op.dim(kCos, 1));
  const OperandId places =
      op.has(kPositions) ? op.input(kPositions) : SLUICE_TRY(new_places(op, group.lengths));
  const auto turn = [&](OperandId x, std::int64_t heads) {
    return op.emit("RotaryEmbedding", {x, op.input(kCos), op.input(kSin), places},
                   {{"interleaved", op.int_of("rotary_interleaved")},
                    {"num_heads", heads},
                    {"rotary_embedding_dim", turned == group.size ? 0 : turned}});
  };
  group.q = SLUICE_TRY(turn(group.q, group.heads));
  group.k = SLUICE_TRY(turn(group.k, group.kv_heads));
  return ok_status();
}

/// The past with the new rows [B, K, S, D] written behind it: [B, K, places, D].
Result<OperandId> append(Lowering& op, std::size_t past, OperandId rows, const Lengths& lengths) {
  if (!op.has(past)) return rows;
  const OperandId cache = op.input(past);
  const OperandId held = SLUICE_TRY(op.axis_length(cache, 2));
  const OperandId missing = SLUICE_TRY(op.emit("Sub", {lengths.places, held}));
  const OperandId outer =
      SLUICE_TRY(op.emit("Shape", {cache}, {{"start", std::int64_t{0}}, {"end", std::int64_t{2}}}));
  const OperandId shape =
      SLUICE_TRY(op.emit("Concat", {outer, missing, SLUICE_TRY(op.axis_length(cache, 3))},
                         {{"axis", std::int64_t{0}}}));
  const OperandId zero = SLUICE_TRY(op.number(0));
  const OperandId filler = SLUICE_TRY(op.emit("Expand", {zero, shape}));
  const OperandId longer =
      SLUICE_TRY(op.emit("Concat", {cache, filler}, {{"axis", std::int64_t{2}}}));
  return op.emit("TensorScatter", {longer, rows, lengths.past});
}

/// The additive mask of the new rows: [B, 1, S, places], or [B, 1, 1, places] if it is not causal.
/// A row sees itself and up to `local_window_size` earlier positions.
Result<OperandId> visibility(Lowering& op, const Lengths& lengths) {
  const OperandId keys = SLUICE_TRY(op.count_up(lengths.places));
  const OperandId rows =
      SLUICE_TRY(op.emit("Unsqueeze", {SLUICE_TRY(new_places(op, lengths)), op.ints({1, 3})}));
  OperandId is_seen;
  if (op.int_of("causal", 1) != 0) {
    is_seen = SLUICE_TRY(op.emit("LessOrEqual", {keys, rows}));
  } else {
    const OperandId ends = SLUICE_TRY(op.emit("Add", {lengths.past, lengths.count}));
    const OperandId end = SLUICE_TRY(op.emit("Unsqueeze", {ends, op.ints({1, 2, 3})}));
    is_seen = SLUICE_TRY(op.emit("Less", {keys, end}));
  }
  if (const std::int64_t window = op.int_of("local_window_size", -1); window > 0) {
    const OperandId before = SLUICE_TRY(op.emit("Sub", {rows, op.integer(window)}));
    const OperandId is_near = SLUICE_TRY(op.emit("Greater", {keys, before}));
    is_seen = SLUICE_TRY(op.emit("And", {is_seen, is_near}));
  }
  const OperandId hidden = SLUICE_TRY(op.number(-std::numeric_limits<float>::infinity()));
  return op.emit("Where", {is_seen, SLUICE_TRY(op.number(0)), hidden});
}

/// The bias has a column per key; places of the cache beyond them are not seen anyway.
Result<OperandId> widened_bias(Lowering& op, const Lengths& lengths) {
  if (!op.has(kBias)) return OperandId();
  const OperandId missing = SLUICE_TRY(op.emit("Sub", {lengths.places, lengths.total}));
  const OperandId pads =
      SLUICE_TRY(op.emit("Concat", {op.ints({0}), missing}, {{"axis", std::int64_t{0}}}));
  return op.emit("Pad", {op.input(kBias), pads, OperandId(), op.ints({-1})});
}

/// Smooth softmax adds exp(sink) to the denominator, a number per head or 0: as one more key does
/// whose score is the sink and whose value is zero. Inputs are q, keys, values and mask.
Status add_sink(Lowering& op, const GroupQuery& group, Lowering::Inputs& inputs) {
  if (!op.has(kSink) && op.int_of("smooth_softmax", -1) <= 0) return ok_status();
  const OperandId zero = SLUICE_TRY(op.number(0));
  const OperandId batch = SLUICE_TRY(op.axis_length(inputs[0], 0));
  const auto shape = [&](Lowering::Inputs dims) {
    return op.emit("Concat", std::move(dims), {{"axis", std::int64_t{0}}});
  };
  const OperandId row = SLUICE_TRY(shape({batch, op.ints({group.kv_heads, 1, group.size})}));
  const OperandId zeros = SLUICE_TRY(op.emit("Expand", {zero, row}));
  for (const std::size_t i : {1, 2}) {
    inputs[i] = SLUICE_TRY(op.emit("Concat", {inputs[i], zeros}, {{"axis", std::int64_t{2}}}));
  }
  OperandId sink = zero;
  if (op.has(kSink)) {
    sink = SLUICE_TRY(op.emit("Reshape", {op.input(kSink), op.ints({1, group.heads, 1, 1})}));
  }
  const OperandId rows = SLUICE_TRY(shape({batch, op.ints({group.heads}), group.lengths.count}));
  const OperandId column =
      SLUICE_TRY(op.emit("Expand", {sink, SLUICE_TRY(shape({rows, op.ints({1})}))}));
  const OperandId whole = SLUICE_TRY(shape({rows, group.lengths.places}));
  const OperandId mask = SLUICE_TRY(op.emit("Expand", {inputs[3], whole}));
  inputs[3] = SLUICE_TRY(op.emit("Concat", {mask, column}, {{"axis", std::int64_t{3}}}));
  return ok_status();
}

Result<OperandId> attend(Lowering& op, Lowering::Inputs inputs) {
  const float scale = op.float_of("scale");
  const float cap = op.float_of("softcap");
  if (cap == 0) return op.emit("Attention", std::move(inputs), {{"scale", scale}}, "sluice");
  Lowering::AttributeList attributes = {{"softcap", cap}};
  if (scale != 0) attributes.emplace_back("scale", scale);
  return op.emit("Attention", std::move(inputs), attributes);
}

Status lower_group_query(Lowering& op) {
  SLUICE_TRY(check_supported(op));
  GroupQuery group;
  SLUICE_TRY(read_rows(op, group));
  group.lengths = SLUICE_TRY(read_lengths(op));
  SLUICE_TRY(normalize_heads(op, group));
  SLUICE_TRY(rotate(op, group));
  const OperandId q = SLUICE_TRY(split_heads(op, group.q, group.heads));
  const OperandId k = SLUICE_TRY(split_heads(op, group.k, group.kv_heads));
  const OperandId v = SLUICE_TRY(split_heads(op, group.v, group.kv_heads));
  const OperandId keys = SLUICE_TRY(append(op, kPastKey, k, group.lengths));
  const OperandId values = SLUICE_TRY(append(op, kPastValue, v, group.lengths));
  const OperandId mask = SLUICE_TRY(sum_of(op, SLUICE_TRY(visibility(op, group.lengths)),
                                           SLUICE_TRY(widened_bias(op, group.lengths))));
  Lowering::Inputs inputs = {q, keys, values, mask};
  SLUICE_TRY(add_sink(op, group, inputs));
  SLUICE_TRY(finish_heads(op, SLUICE_TRY(attend(op, std::move(inputs)))));
  if (op.wants(1)) SLUICE_TRY(op.finish("Identity", {keys}, {}, {1}));
  if (op.wants(2)) SLUICE_TRY(op.finish("Identity", {values}, {}, {2}));
  return ok_status();
}

}  // namespace

std::vector<LoweredOperator> lowered_group_query() {
  const std::int64_t no = 0;
  const OperandSpec x = {"query", kFloats, "T"}, maybe = {"optional", kFloats, "T", true};
  const OperandSpec lengths = {"seqlens_k", kIndices}, scales = {"scale", kFloats, "", true};
  const OperandSpec total = {"total_sequence_length", kIndices, "", false, false, true};
  const OperandSpec places = {"position_ids", kI64Only, "", true};
  return {{"GroupQueryAttention",
           "attention whose query heads share key heads, over a growing cache",
           {x, maybe, maybe, maybe, maybe, lengths, total, maybe, maybe, places, maybe, maybe,
            scales, scales, maybe, maybe},
           {"output", "present_key", "present_value", "output_qk"},
           {{"num_heads", no, true},
            {"kv_num_heads", no, true},
            {"do_rotary", no},
            {"rotary_interleaved", no},
            {"local_window_size", std::int64_t{-1}},
            {"causal", std::int64_t{1}},
            {"smooth_softmax", std::int64_t{-1}},
            {"qk_norm_epsilon", 1e-6F},
            {"scale", 0.0F},
            {"softcap", 0.0F}},
           lower_group_query}};
}

}  // namespace sluice::ops
