// Recurrent networks and attention: each row is a sequence, or a batch entry of one.
#include "ops/rows/row_rule.h"

namespace sluice::ops {
namespace {

/// Whether an input is absent, or has the rows along `axis`.
bool fits(const RowContext& context, std::size_t input, std::size_t axis) {
  return !context.facts.has_input(input) || context.rows(input).are_at(axis);
}

/// Inputs X, W, R, B, sequence_lens, initial_h, initial_c, P; outputs Y, Y_h, Y_c. With layout 0
/// the batch is axis 1 of X and of the states, and axis 2 of Y.
RowsResult recurrent_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({0, 4, 5, 6}));
  const std::size_t axis = context.facts.int_attribute("layout") == 0 ? 1 : 0;
  const bool are_apart = context.rows(0).are_at(axis) && fits(context, 4, 0) &&
                         fits(context, 5, axis) && fits(context, 6, axis);
  if (!are_apart) return context.mixes("the rows are not the batch of all inputs");
  std::vector<Rows> results(context.facts.num_outputs(), Rows::at(axis));
  results.front() = Rows::at(axis == 1 ? 2 : 0);
  return results;
}

/// Masks are broadcast to [batch, heads, queries, keys].
Status check_masks(const RowContext& context, std::initializer_list<std::size_t> masks) {
  const ir::Shape scores = {context.shape(0).front(), ir::Dim(2), ir::Dim(2), ir::Dim(2)};
  for (const std::size_t i : masks) {
    if (!context.facts.has_input(i)) continue;
    const RowOperand operands[] = {{&scores, Rows::at(0)},
                                   {context.facts.shape(i), context.rows(i)}};
    SLUICE_TRY(broadcast_rows(operands, scores).status());
  }
  return ok_status();
}

Status check_batches(const RowContext& context, std::initializer_list<std::size_t> inputs) {
  for (const std::size_t i : inputs) {
    const bool is_same = fits(context, i, 0) &&
                         (!context.facts.has_input(i) ||
                          context.shape(i).front() == context.shape(inputs.begin()[0]).front());
    if (!is_same) return context.mixes("input {} has no rows along axis 0", i);
  }
  return ok_status();
}

/// Inputs Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen.
RowsResult attention_rows(const RowContext& context) {
  SLUICE_TRY(check_batches(context, {0, 1, 2, 4, 5, 6}));
  SLUICE_TRY(check_masks(context, {3}));
  return std::vector{Rows::at(0)};
}

/// Inputs q, k, v, mask, past_k, past_v, keep.
RowsResult fused_attention_rows(const RowContext& context) {
  SLUICE_TRY(check_batches(context, {0, 1, 2, 4, 5}));
  SLUICE_TRY(check_masks(context, {3, 6}));
  return std::vector{Rows::at(0)};
}

/// Inputs X, cos_cache, sin_cache, position_ids: caches are tables, or have the rows themselves.
RowsResult rotary_rows(const RowContext& context) {
  SLUICE_TRY(check_batches(context, {0, 3}));
  const bool has_positions = context.facts.has_input(3);
  for (const std::size_t i : {1U, 2U}) {
    const bool is_apart = has_positions ? context.rows(i).is_none() : context.rows(i).are_at(0);
    if (!is_apart) return context.mixes("its input {} is not that of the rows", i);
  }
  return std::vector{Rows::at(0)};
}

constexpr NamedRowRule kSequenceRules[] = {
    {"", "Attention", attention_rows},    {"", "GRU", recurrent_rows},
    {"", "LSTM", recurrent_rows},         {"", "RNN", recurrent_rows},
    {"", "RotaryEmbedding", rotary_rows}, {"sluice", "Attention", fused_attention_rows},
};

}  // namespace

std::span<const NamedRowRule> sequence_row_rules() { return kSequenceRules; }

}  // namespace sluice::ops
