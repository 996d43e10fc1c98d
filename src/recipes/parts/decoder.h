// What decoders of Llama's kind have in common: blocks of attention with rotary positions over a
// cache, and of a gated product, each behind a norm by root mean square.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
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
  bool is_interleaved = false;  ///< the numbers of a pair are neighbours, not half a head apart
  bool is_tied = false;         ///< the output matrix is the table of the input
  bool has_qkv_bias = false;
  bool has_output_bias = false;  ///< of the product behind the attention
  bool has_inner_bias = false;
  bool has_head_norms = false;         ///< of each head of queries and keys, before they turn
  std::optional<std::int64_t> window;  ///< positions that a position sees, itself included
  /// Of each layer, whether it has the window, and turns by `local_rotation`; empty: all have it.
  std::vector<bool> is_local = {};
  std::vector<float> local_rotation = {};
  float input_scale = 1;            ///< of the rows of the input's table
  float attention_scale = 0;        ///< of products of queries and keys; 0: 1 / sqrt(head_size)
  bool has_gelu = false;            ///< by tanh, where Llama has SiLU
  bool has_norms_around_1 = false;  ///< a weight of a norm is what is added to 1
  bool has_norms_behind = false;    ///< the results of attention and product are normed, too
  ir::ElementType cache = ir::ElementType::kF32;  ///< of keys and values: kF32 or kF16
};

/// What config.json says under the names that these families share. `bend` is the one that
/// hidden_act must name; empty: the family reads it.
DecoderShape read_decoder(Settings& settings, std::string_view bend = "silu");

/// The graph of a ragged batch. S are new tokens of N sequences, whose keys and values lie in P
/// pages of 32 places that the sequences share.
///
/// Inputs:  ids i64[S]; positions i64[S], in the sequence; sequences i64[S], rows of `tables`;
///          tables i64[N, B], the pages of each sequence in order; last i64[N], the tokens whose
///          logits are wanted; for each layer L `state.keys.L` and `state.values.L`,
///          [P, key heads, 32, head size] of the shape's `cache`.
/// Outputs: logits f32[N, vocabulary]; the states with the new rows written at their places,
///          `state.keys.L.next` and so on. Where they are bound to the states' memory, a run writes
///          the new rows alone. If two rows have one place, the run writes one of the two.
/// Fails: kInvalidArgument  a weight that is missing or of another shape
///        kUnimplemented    a weight that the graph does not read
Result<ir::Graph> make_decoder(const DecoderShape& shape, const weights::Weights& weights);

}  // namespace sluice::recipes
