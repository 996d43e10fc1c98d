// What decoders of Llama's kind have in common: blocks of attention with rotary positions over a
// cache, and of a gated product, each behind a norm by root mean square.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "recipes/parts/settings.h"
#include "weights/weights.h"

namespace sluice::recipes {

/// Sizes and variations. `read_decoder` fills in what all families have.
struct DecoderShape {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t inner_width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t context = 0;     ///< the most positions of a sequence
  float epsilon = 1e-6F;        ///< of the norms
  std::vector<float> rotation;  ///< angle per position of each pair, head_size / 2
  bool is_tied = false;         ///< the output matrix is the table of the input
  bool has_qkv_bias = false;
  bool has_output_bias = false;  ///< of the product behind the attention
  bool has_inner_bias = false;
  bool has_head_norms = false;         ///< of each head of queries and keys, before they turn
  std::optional<std::int64_t> window;  ///< positions that a position sees, itself included
};

/// What config.json says under the names that these families share.
DecoderShape read_decoder(Settings& settings);

/// The graph of a ragged batch. S are new tokens of N sequences, whose keys and values lie in P
/// pages of 32 places that the sequences share.
///
/// Inputs:  ids i64[S]; positions i64[S], in the sequence; sequences i64[S], rows of `tables`;
///          tables i64[N, B], the pages of each sequence in order; last i64[N], the tokens whose
///          logits are wanted; for each layer L `state.keys.L` and `state.values.L`,
///          f32[P, key heads, 32, head size].
/// Outputs: logits f32[N, vocabulary]; the states with the new rows written at their places,
///          `state.keys.L.next` and so on. Where they are bound to the states' memory, a run writes
///          the new rows alone. If two rows have one place, the run writes one of the two.
/// Fails: kInvalidArgument  a weight that is missing or of another shape
///        kUnimplemented    a weight that the graph does not read
Result<ir::Graph> make_decoder(const DecoderShape& shape, const weights::Weights& weights);

}  // namespace sluice::recipes
