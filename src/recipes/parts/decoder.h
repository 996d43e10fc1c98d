// What decoders have in common: blocks of attention over a cache, and of a product with an inner
// width, each behind a norm. Most turn by rotary positions and gate the product, as Llama does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "recipes/parts/adapters.h"
#include "recipes/parts/rotation.h"
#include "recipes/parts/settings.h"
#include "weights/weights.h"

namespace sluice::recipes {

/// Above all sizes that config.json may name.
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 24;

/// What a family calls its weights, without ".weight" and ".bias". Those from `attention_norm` on
/// stand behind the layer's name.
struct DecoderNames {
  std::string_view prefix = {};  ///< of all; files of the decoder alone may leave it out
  std::string_view table = "model.embed_tokens";
  std::string_view positions = {};  ///< a table of them; empty: there is none
  std::string_view layer = "model.layers.{}.";
  std::string_view last_norm = "model.norm";
  std::string_view attention_norm = "input_layernorm";
  std::string_view query = "self_attn.q_proj";
  std::string_view key = "self_attn.k_proj";
  std::string_view value = "self_attn.v_proj";
  std::string_view joined = {};  ///< queries, keys and values in one matrix, in place of three
  std::string_view attention_output = "self_attn.o_proj";
  std::string_view inner_norm = "post_attention_layernorm";
  std::string_view gate = "mlp.gate_proj";  ///< empty: the product has no gate
  std::string_view up = "mlp.up_proj";
  std::string_view joined_up = {};  ///< gate and up in one matrix, in place of two
  std::string_view down = "mlp.down_proj";
  std::vector<std::string_view> ignored = {};  ///< of a layer: they say nothing
};

/// A mixture of experts in place of the product with an inner width: a token takes the `used` ones
/// that its router finds likeliest. Names stand behind the layer's; those of an expert have a place
/// for its number, which files with stacks of all experts leave out.
struct ExpertShape {
  std::int64_t count = 0;  ///< 0: no layer has experts
  std::int64_t used = 0;
  std::int64_t width = 0;              ///< the inner one
  std::int64_t shared_width = 0;       ///< of an expert that all tokens take; 0: there is none
  bool is_normalized = false;          ///< the shares of the used experts add up to 1
  std::vector<bool> is_in_layer = {};  ///< empty: all layers have experts
  std::string_view router = "mlp.gate";
  std::string_view gate = "mlp.experts.{}gate_proj";
  std::string_view up = "mlp.experts.{}up_proj";
  std::string_view down = "mlp.experts.{}down_proj";
};

/// Sizes and variations. `read_decoder` fills in what all families have.
struct DecoderShape {
  DecoderNames names = {};
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t inner_width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t context = 0;     ///< the most positions of a sequence
  float epsilon = 1e-6F;        ///< of the norms
  Rotation rotation = {};       ///< of queries and keys; without angles they do not turn
  bool is_interleaved = false;  ///< the numbers of a pair are neighbours, not half a turn apart
  bool is_tied = false;         ///< the output matrix is the table of the input
  bool is_straight = false;     ///< matrices of layers are [in, out]
  bool has_qkv_bias = false;
  bool has_output_bias = false;  ///< of the product behind the attention
  bool has_inner_bias = false;
  bool has_head_norms = false;         ///< of each head of queries and keys, before they turn
  std::optional<std::int64_t> window;  ///< positions that a position sees, itself included
  /// By layer: whether it has the window, and turns by `local_rotation`; empty: all have it.
  std::vector<bool> is_local = {};
  Rotation local_rotation = {};
  std::vector<bool> is_turned = {};  ///< of each layer, whether it turns at all; empty: all do
  float input_scale = 1;             ///< of the rows of the input's table
  float attention_scale = 0;         ///< of products of queries and keys; 0: 1 / sqrt(head_size)
  float attention_cap = 0;           ///< above 0: bounds these products by c * tanh(x / c)
  float logit_cap = 0;               ///< the same of the results
  bool has_gelu = false;             ///< by tanh, where Llama has SiLU
  bool has_norms_around_1 = false;   ///< a weight of a norm is what is added to 1
  bool has_norms_behind = false;     ///< the results of attention and product are normed, too
  bool has_mean_norms = false;       ///< norms subtract the mean first, and add a bias
  ExpertShape experts = {};
  ir::ElementType cache = ir::ElementType::kF32;  ///< of keys and values: kF32, kF16 or kI8
};

/// What a file of a family means where it says nothing, as the family's configuration class of
/// transformers has it.
struct DecoderDefaults {
  std::string_view bend = "silu";  ///< that hidden_act must name; empty: the family reads it
  double theta = kUsualTheta;      ///< rope_theta, of layers without a window where kinds differ
  double epsilon = 1e-6;           ///< rms_norm_eps
};

/// What config.json says under the names that these families share.
DecoderShape read_decoder(Settings& settings, const DecoderDefaults& defaults = {});

/// What config.json says of experts: num_experts or num_local_experts, num_experts_per_tok.
ExpertShape read_experts(Settings& settings);

/// Layers that see a window, of `layer_types`, or of `pattern` without it: all but each
/// `pattern`-th one.
std::vector<bool> read_local_layers(Settings& settings, std::int64_t layers, std::int64_t pattern);

/// The graph of a ragged batch. S are new tokens of N sequences, whose keys and values lie in P
/// pages of 32 places that the sequences share.
///
/// Inputs:  ids i64[S]; positions i64[S], in the sequence; sequences i64[S], rows of `tables`;
///          tables i64[N, B], the pages of each sequence in order; last i64[N], the tokens whose
///          logits are wanted; for each layer L `state.keys.L` and `state.values.L`,
///          [P, key heads, 32, head size] of the shape's `cache`; of kI8 the last is 4 longer, for
///          the scale of each row (src/ops/nn/paged.cc); with adapters, adapters i64[N]: that of
///          each sequence, or -1.
/// Outputs: logits f32[N, vocabulary]; the states with the new rows written at their places,
///          `state.keys.L.next` and so on. Where they are bound to the states' memory, a run writes
///          the new rows alone. If two rows have one place, the run writes one of the two.
/// Fails: kInvalidArgument  a weight that is missing or of another shape
///        kUnimplemented    a weight that the graph does not read, of the model or an adapter
Result<ir::Graph> make_decoder(const DecoderShape& shape, const weights::Weights& weights,
                               Adapters& adapters);

}  // namespace sluice::recipes
