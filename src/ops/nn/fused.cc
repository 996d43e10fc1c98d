// Sluice's own operators, which only passes make.
//
// Elementwise  computes nothing of its own: its body (see `ir::Body`) maps the body's inputs to the
//              output, broadcast together.
// Reorder      gives input 0 in the layout that attribute `layout` names ("row_major", "c16");
//              elements and logical shape stay.
// Attention    attention over heads, as decoders with a cache need it, in one step:
//                K = concat(past_k, k), V = concat(past_v, v) along the sequence
//                y = softmax(where(keep, scale * q * K^T, hidden) + mask) * V
//              q [B, Hq, S, D], k [B, Hk, T, D], v [B, Hk, T, Dv], Hq a multiple of Hk: query head
//              h reads key head h / (Hq / Hk). mask is added; where keep is false, the score is the
//              number `hidden`. Both broadcast to [B, Hq, S, P + T].
//              past_k [B, Hk, P, D], past_v [B, Hk, P, Dv]: both or none.
//              Outputs: y [B, Hq, S, Dv], and on request K and V.
//              Each of q, k, v may be packed instead, [B, S, Hq * D] and so on, where `q_num_heads`
//              and `kv_num_heads` say how many heads it has; with `packed_result` 1 y is.
//              `scale` 0 means 1 / sqrt(D). With `is_causal` 1 query i sees keys up to P + i.
//              `zero_rows` names the queries that get zeros: 0 none, so that a softmax without a
//              value is NaN; 1 those from which mask, hidden and causality hide all keys by
//              -infinity, as ONNX's Attention; 2 all whose softmax is NaN, as torch's guard.
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

Status infer_reorder(InferenceContext& context) {
  const auto layout = ir::find_layout(context.text_attribute("layout"));
  if (!layout) {
    return context.error("layout \"{}\" is unknown", context.text_attribute("layout"));
  }
  context.set_output(0, context.input(0).with_layout(*layout));
  return ok_status();
}

/// [B, L, H * D] as [B, H, L, D], with as many heads as the attribute says; four axes as they are.
Result<ir::Shape> shape_of_heads(InferenceContext& context, std::size_t input,
                                 std::string_view attribute) {
  const ir::Shape& shape = *context.shape(input);
  if (shape.size() == 4) return shape;
  const std::int64_t heads = context.int_attribute(attribute);
  if (shape.size() != 3 || heads < 1) {
    return context.error("q, k and v must have rank 4, or rank 3 and a number of heads");
  }
  if (!shape[2].is_known()) return ir::Shape{shape[0], heads, shape[1], context.unknown_dim()};
  if (shape[2].value() % heads != 0) {
    return context.error("{} columns are not those of {} heads", shape[2].value(), heads);
  }
  return ir::Shape{shape[0], heads, shape[1], shape[2].value() / heads};
}

Status check_operands(const InferenceContext& context, const ir::Shape& q, const ir::Shape& k,
                      const ir::Shape& v) {
  const bool fit = may_be_equal(q[0], k[0]) && may_be_equal(q[3], k[3]) &&
                   may_be_equal(k[0], v[0]) && may_be_equal(k[1], v[1]) && may_be_equal(k[2], v[2]);
  if (!fit ||
      (q[1].is_known() && k[1].is_known() && (k[1].is(0) || q[1].value() % k[1].value() != 0))) {
    return context.error("q {}, k {} and v {} do not fit", ir::shape_to_string(q),
                         ir::shape_to_string(k), ir::shape_to_string(v));
  }
  if (context.has_input(4) != context.has_input(5)) {
    return context.error("past_k and past_v come together");
  }
  return ok_status();
}

/// y, where it is packed: its columns are known only if heads and their size are.
ir::Shape packed(InferenceContext& context, const ir::Shape& y) {
  const bool is_known = y[1].is_known() && y[3].is_known();
  return {y[0], y[2], is_known ? ir::Dim(y[1].value() * y[3].value()) : context.unknown_dim()};
}

Status infer_fused_attention(InferenceContext& context) {
  const ir::ElementType element = context.element(0);
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.shape(i) == nullptr) return ok_status();
  }
  const ir::Shape q = SLUICE_TRY(shape_of_heads(context, 0, "q_num_heads"));
  ir::Shape keys = SLUICE_TRY(shape_of_heads(context, 1, "kv_num_heads"));
  ir::Shape values = SLUICE_TRY(shape_of_heads(context, 2, "kv_num_heads"));
  SLUICE_TRY(check_operands(context, q, keys, values));
  if (context.has_input(4)) {
    const ir::Shape* past_k = context.shape(4);
    const ir::Shape* past_v = context.shape(5);
    if ((past_k && past_k->size() != 4) || (past_v && past_v->size() != 4)) {
      return context.error("past_k and past_v must have rank 4");
    }
    keys[2] = past_k ? (*past_k)[2] + keys[2] : context.unknown_dim();
    values[2] = keys[2];
  }
  const ir::Shape y = {q[0], q[1], q[2], values[3]};
  const bool packs_y = context.int_attribute("packed_result") != 0;
  context.set_output(0, element, packs_y ? packed(context, y) : y);
  context.set_output(1, element, std::move(keys));
  context.set_output(2, element, std::move(values));
  return ok_status();
}

}  // namespace

std::vector<OpSchema> fused_ops() {
  return {
      {.domain = "sluice",
       .name = "Elementwise",
       .versions = {1},
       .doc = "a fused chain of element-wise operators",
       .inputs = {},
       .outputs = {{"Y", kAllTensors}},
       .infer = infer_body_inputs,
       .traits = kElementwise},
      {.domain = "sluice",
       .name = "Reorder",
       .versions = {1},
       .doc = "the same elements in another layout",
       .inputs = {{"X", kAllTensors, "T"}},
       .outputs = {{"Y", kAllTensors, "T"}},
       .attributes = {{"layout", std::string("row_major"), true}},
       .infer = infer_reorder},
      {.domain = "sluice",
       .name = "Attention",
       .versions = {1},
       .doc = "attention over heads with an optional additive mask and past keys and values",
       .inputs = {{"q", kFloats, "T"},
                  {"k", kFloats, "T"},
                  {"v", kFloats, "T"},
                  {"mask", kFloats, "T", true},
                  {"past_k", kFloats, "T", true},
                  {"past_v", kFloats, "T", true},
                  {"keep", kBools, "", true}},
       .outputs = {{"y", kFloats, "T"},
                   {"present_k", kFloats, "T", true},
                   {"present_v", kFloats, "T", true}},
       .attributes = {{"scale", 0.0F},
                      {"is_causal", std::int64_t{0}},
                      {"hidden", 0.0F},
                      {"zero_rows", std::int64_t{1}},
                      {"q_num_heads", std::int64_t{0}},
                      {"kv_num_heads", std::int64_t{0}},
                      {"packed_result", std::int64_t{0}}},
       .infer = infer_fused_attention},
  };
}

}  // namespace sluice::ops
