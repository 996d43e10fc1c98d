// Operators that carry a state from one piece of a sequence to the next: CausalConvWithState,
// LinearAttention.
#include <algorithm>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

using ir::Dim;

constexpr TypeSet kShortFloats = {ir::ElementType::kF16, ir::ElementType::kBf16,
                                  ir::ElementType::kF32};

/// Checks that input `index` has this shape; unknown dimensions match any.
Status expect_shape(const InferenceContext& context, std::size_t index, std::string_view name,
                    const ir::Shape& expected) {
  const ir::Shape* given = context.shape(index);
  if (given == nullptr || std::equal(given->begin(), given->end(), expected.begin(), expected.end(),
                                     ir::may_be_equal)) {
    return ok_status();
  }
  return context.error("{} {} must be {}", name, ir::shape_to_string(*given),
                       ir::shape_to_string(expected));
}

Status infer_causal_conv(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "activation", {"none", "silu", "swish"}));
  const ir::Shape* x = context.shape(0);
  const ir::Shape* weight = context.shape(1);
  if (x == nullptr || weight == nullptr) return ok_status();
  if (x->size() != 3) {
    return context.error("input {} must be [batch, channels, length]", ir::shape_to_string(*x));
  }
  if (weight->size() != 3) {
    return context.error("weight {} must be [channels, 1, k]", ir::shape_to_string(*weight));
  }
  const Dim& taps = weight->back();
  if (taps.is_known() && taps.value() < 1) return context.error("the kernel has no taps");
  SLUICE_TRY(expect_shape(context, 1, "weight", {(*x)[1], 1, taps}));
  SLUICE_TRY(expect_shape(context, 2, "bias", {(*x)[1]}));
  // The state is the last inputs that the next piece's first window needs: one less than the taps.
  ir::Shape state = {(*x)[0], (*x)[1], taps - 1};
  SLUICE_TRY(expect_shape(context, 3, "past_state", state));
  context.set_output(0, context.element(0), *x);
  context.set_output(1, context.element(0), std::move(state));
  return ok_status();
}

/// The inputs that the rule reads, and no others.
Status check_update_rule(const InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "update_rule", {"linear", "gated", "delta", "gated_delta"}));
  const std::string rule = context.text_attribute("update_rule", "gated_delta");
  const bool takes_decay = rule.starts_with("gated");
  const bool takes_beta = rule.ends_with("delta");
  if (context.has_input(4) != takes_decay) {
    return context.error("update_rule {} {} decay", rule, takes_decay ? "needs" : "takes no");
  }
  if (context.has_input(5) != takes_beta) {
    return context.error("update_rule {} {} beta", rule, takes_beta ? "needs" : "takes no");
  }
  return ok_status();
}

Status check_heads(const InferenceContext& context, std::int64_t q_heads, std::int64_t kv_heads) {
  if (kv_heads < 1 || q_heads < 1 || q_heads % kv_heads != 0) {
    return context.error("q_num_heads {} must be a positive multiple of kv_num_heads {}", q_heads,
                         kv_heads);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const ir::Shape& shape = *context.shape(i);
    const std::int64_t heads = i == 0 ? q_heads : kv_heads;
    const bool is_whole =
        shape.size() == 3 && (!shape[2].is_known() || shape[2].value() % heads == 0);
    if (!is_whole) {
      return context.error("input {} of shape {} must be [batch, length, {} heads * size]", i,
                           ir::shape_to_string(shape), heads);
    }
  }
  return ok_status();
}

Status infer_linear_attention(InferenceContext& context) {
  SLUICE_TRY(check_update_rule(context));
  const ir::ElementType state_type = context.has_input(3) ? context.element(3) : context.element(0);
  context.set_output(1, state_type, std::nullopt);
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.shape(i) == nullptr) return ok_status();
  }
  const std::int64_t q_heads = context.int_attribute("q_num_heads");
  const std::int64_t kv_heads = context.int_attribute("kv_num_heads");
  SLUICE_TRY(check_heads(context, q_heads, kv_heads));
  const ir::Shape& query = *context.shape(0);
  const Dim key_size = floor_div(query[2], q_heads);
  const Dim value_size = floor_div((*context.shape(2))[2], kv_heads);
  SLUICE_TRY(expect_shape(context, 1, "key", {query[0], query[1], key_size * kv_heads}));
  SLUICE_TRY(expect_shape(context, 2, "value", {query[0], query[1], value_size * kv_heads}));
  // The state of a head is a matrix of keys times values. Its size does not grow with the sequence.
  ir::Shape state = {query[0], kv_heads, key_size, value_size};
  SLUICE_TRY(expect_shape(context, 3, "past_state", state));
  context.set_output(0, context.element(0), ir::Shape{query[0], query[1], value_size * q_heads});
  context.set_output(1, state_type, std::move(state));
  return ok_status();
}

}  // namespace

std::vector<OpSchema> causal_ops() {
  return {
      {.name = "CausalConvWithState",
       .versions = {27},
       .doc = "causal convolution per channel; the last inputs become the next state",
       .inputs = {{"input", kShortFloats, "T"},
                  {"weight", kShortFloats, "T"},
                  {"bias", kShortFloats, "T", true},
                  {"past_state", kShortFloats, "T", true}},
       .outputs = {{"output", kShortFloats, "T"}, {"present_state", kShortFloats, "T", true}},
       .attributes = {{"activation", std::string("none")}},
       .infer = infer_causal_conv},
      {.name = "LinearAttention",
       .versions = {27},
       .doc = "attention as a recurrence over a state of keys times values",
       .inputs = {{"query", kShortFloats, "T"},
                  {"key", kShortFloats, "T"},
                  {"value", kShortFloats, "T"},
                  {"past_state", kShortFloats, "S", true},
                  {"decay", kShortFloats, "T", true},
                  {"beta", kShortFloats, "T", true}},
       .outputs = {{"output", kShortFloats, "T"}, {"present_state", kShortFloats, "S", true}},
       .attributes = {{"chunk_size", std::int64_t{64}},
                      {"kv_num_heads", std::int64_t{0}, true},
                      {"q_num_heads", std::int64_t{0}, true},
                      {"scale", 0.0F},
                      {"update_rule", std::string("gated_delta")}},
       .infer = infer_linear_attention},
  };
}

}  // namespace sluice::ops
