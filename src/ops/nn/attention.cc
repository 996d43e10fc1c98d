// Attention and what belongs to it: ONNX's Attention and RotaryEmbedding.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kMasks = kFloats | kInts | kBools;

/// Dimensions of one of Q, K, V, whether [B, H, S, D] or [B, S, H*D].
struct Heads {
  ir::Dim batch, heads, length, size;
};

/// Rank 3 packs the heads into the last dimension, so the attribute must say how many there are.
Result<Heads> heads_of(const InferenceContext& context, std::size_t index,
                       std::string_view attribute) {
  const ir::Shape& shape = *context.shape(index);
  if (shape.size() == 4) return Heads{shape[0], shape[1], shape[2], shape[3]};
  const std::int64_t heads = context.int_attribute(attribute);
  if (shape.size() != 3 || heads < 1) {
    return context.error("input {} of shape {} needs rank 4, or rank 3 and attribute {}", index,
                         ir::shape_to_string(shape), attribute);
  }
  if (shape[2].is_known() && shape[2].value() % heads != 0) {
    return context.error("{} columns cannot be divided into {} heads", shape[2].to_string(), heads);
  }
  return Heads{shape[0], heads, shape[1], floor_div(shape[2], heads)};
}

Status check_heads(const InferenceContext& context, const Heads& q, const Heads& k,
                   const Heads& v) {
  if (!may_be_equal(q.size, k.size) || !may_be_equal(k.length, v.length) ||
      !may_be_equal(k.heads, v.heads)) {
    return context.error("Q {}, K {} and V {} do not fit", ir::shape_to_string(*context.shape(0)),
                         ir::shape_to_string(*context.shape(1)),
                         ir::shape_to_string(*context.shape(2)));
  }
  // Grouped queries: several query heads read one key head.
  if (q.heads.is_known() && k.heads.is_known() &&
      (k.heads.is(0) || q.heads.value() % k.heads.value() != 0)) {
    return context.error("{} query heads cannot share {} key heads", q.heads.to_string(),
                         k.heads.to_string());
  }
  return ok_status();
}

// Outputs: 0 the result, 1 and 2 the keys and values behind those of the past, 3 the scores.
Status infer_attention(InferenceContext& context) {
  const ir::ElementType element = context.element(0);
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.shape(i) == nullptr) return ok_status();
  }
  const Heads q = SLUICE_TRY(heads_of(context, 0, "q_num_heads"));
  const Heads k = SLUICE_TRY(heads_of(context, 1, "kv_num_heads"));
  const Heads v = SLUICE_TRY(heads_of(context, 2, "kv_num_heads"));
  SLUICE_TRY(check_heads(context, q, k, v));
  // Keys of the past come before the new ones.
  ir::Dim total = k.length;
  if (context.has_input(4)) {
    const ir::Shape* past = context.shape(4);
    if (past != nullptr && past->size() != 4) return context.error("past_key must have rank 4");
    total = past != nullptr ? (*past)[2] + k.length : context.unknown_dim();
  }
  const bool is_packed = context.shape(0)->size() == 3;
  context.set_output(0, element,
                     is_packed ? ir::Shape{q.batch, q.length, q.heads * v.size}
                               : ir::Shape{q.batch, q.heads, q.length, v.size});
  context.set_output(1, element, ir::Shape{k.batch, k.heads, total, k.size});
  context.set_output(2, context.element(2), ir::Shape{v.batch, v.heads, total, v.size});
  context.set_output(3, element, ir::Shape{q.batch, q.heads, q.length, total});
  return ok_status();
}

OpSchema attention() {
  return {.name = "Attention",
          .versions = {23, 24, 25},
          .doc = "softmax(scale * Q * K^T + mask) * V per head, keys and values appended to a past",
          .inputs = {{"Q", kFloats, "T1"},
                     {"K", kFloats, "T1"},
                     {"V", kFloats, "T2"},
                     {"attn_mask", kMasks, "U", true},
                     {"past_key", kFloats, "T1", true},
                     {"past_value", kFloats, "T2", true},
                     {"nonpad_kv_seqlen", kI64Only, "", true}},
          .outputs = {{"Y", kFloats, "T1"},
                      {"present_key", kFloats, "T1", true},
                      {"present_value", kFloats, "T2", true},
                      {"qk_matmul_output", kFloats, "T1", true}},
          .attributes = {{"is_causal", std::int64_t{0}},
                         {"kv_num_heads", std::nullopt},
                         {"left_window_size", std::int64_t{-1}},
                         {"q_num_heads", std::nullopt},
                         {"qk_matmul_output_mode", std::int64_t{0}},
                         {"right_window_size", std::int64_t{-1}},
                         {"scale", std::nullopt},
                         {"softcap", 0.0F},
                         {"softmax_precision", std::nullopt}},
          .infer = infer_attention,
          .upgrade = upgrade_unchanged};
}

OpSchema rotary_embedding() {
  return {.name = "RotaryEmbedding",
          .versions = {23},
          .doc = "turns pairs of elements by an angle that depends on their position",
          .inputs = {{"X", kFloats, "T"},
                     {"cos_cache", kFloats, "T"},
                     {"sin_cache", kFloats, "T"},
                     {"position_ids", kI64Only, "M", true}},
          .outputs = {{"Y", kFloats, "T"}},
          .attributes = {{"interleaved", std::int64_t{0}},
                         {"num_heads", std::int64_t{0}},
                         {"rotary_embedding_dim", std::int64_t{0}}},
          .infer = infer_same_as_input};
}

}  // namespace

std::vector<OpSchema> attention_ops() { return {attention(), rotary_embedding()}; }

}  // namespace sluice::ops
