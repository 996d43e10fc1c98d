// Fields of config.json that families of decoders share.
#include "recipes/parts/decoder.h"

namespace sluice::recipes {
namespace {

/// Refuses heads that do not share keys evenly, or cannot turn.
void check_heads(Settings& settings, const DecoderShape& shape) {
  if (shape.key_heads > 0 && shape.heads % shape.key_heads == 0 && shape.head_size % 2 == 0 &&
      shape.head_size > 0) {
    return;
  }
  settings.fail(invalid_argument(
      "{} heads of {} numbers cannot share {} heads of keys: num_attention_heads must be a "
      "multiple of num_key_value_heads, and head_dim even",
      shape.heads, shape.head_size, shape.key_heads));
}

}  // namespace

DecoderShape read_decoder(Settings& settings, const DecoderDefaults& defaults) {
  DecoderShape shape;
  shape.vocabulary = settings.whole("vocab_size", 1, kMostSize);
  shape.width = settings.whole("hidden_size", 1, kMostSize);
  shape.inner_width = settings.whole("intermediate_size", 1, kMostSize);
  shape.layers = settings.whole("num_hidden_layers", 1, 1024);
  shape.heads = settings.whole("num_attention_heads", 1, 4096);
  shape.key_heads = settings.whole_or("num_key_value_heads", shape.heads, 1, 4096);
  shape.head_size = settings.whole_or("head_dim", shape.width / shape.heads, 1, 4096);
  shape.context = settings.whole("max_position_embeddings", 1, kMostSize);
  shape.epsilon = static_cast<float>(settings.number_or("rms_norm_eps", defaults.epsilon));
  shape.is_tied = settings.flag_or("tie_word_embeddings", false);
  if (!defaults.bend.empty()) settings.require_text("hidden_act", defaults.bend);
  check_heads(settings, shape);
  if (shape.head_size < 2 || shape.head_size % 2 != 0) return shape;
  shape.rotation = read_rotation(settings, shape.head_size, shape.context, defaults.theta);
  shape.local_rotation = read_local_rotation(settings, shape.head_size, shape.context);
  if (shape.rotation.context > 0) shape.context = shape.rotation.context;
  return shape;
}

ExpertShape read_experts(Settings& settings) {
  ExpertShape experts;
  const char* name = settings.has("num_experts") ? "num_experts" : "num_local_experts";
  experts.count = settings.whole(name, 1, 1 << 16);
  experts.used = settings.whole("num_experts_per_tok", 1, 1 << 16);
  if (experts.used > experts.count) {
    settings.fail(
        invalid_argument("num_experts_per_tok: {} of {} experts", experts.used, experts.count));
  }
  // Settings of training, and of what else a model may return.
  settings.ignore({"num_experts", "num_local_experts", "output_router_logits",
                   "router_aux_loss_coef", "router_jitter_noise"});
  return experts;
}

std::vector<bool> read_local_layers(Settings& settings, std::int64_t layers, std::int64_t pattern) {
  const nlohmann::json types = settings.value("layer_types");
  std::vector<bool> is_local;
  for (std::int64_t i = 0; i < layers; ++i) is_local.push_back((i + 1) % pattern != 0);
  if (types.is_null()) return is_local;
  const bool fits = types.is_array() && std::ssize(types) == layers;
  for (std::size_t i = 0; fits && i < is_local.size(); ++i) {
    is_local[i] = types[i] == "sliding_attention";
    if (is_local[i] || types[i] == "full_attention") continue;
    settings.fail(unimplemented("layer_types: {} is not supported", types[i].dump()));
  }
  if (!fits) settings.fail(invalid_argument("layer_types: expected a list of {} names", layers));
  return is_local;
}

}  // namespace sluice::recipes
