#include <utility>
#include <vector>

#include "recipes/families/families.h"

namespace sluice::recipes {

void require_full_attention(Settings& settings) {
  settings.require_flag("use_sliding_window", false);
  settings.ignore({"sliding_window", "max_window_layers"});
  const nlohmann::json kinds = settings.value("layer_types");
  if (kinds.is_null()) return;
  for (const auto& kind : kinds) {
    if (kind != "full_attention") {
      return settings.fail(unimplemented("layer_types: only \"full_attention\" is supported"));
    }
  }
}

DecoderShape read_qwen2(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  shape.has_qkv_bias = true;
  require_full_attention(settings);
  return shape;
}

namespace {

/// Experts in each `decoder_sparse_step`-th layer but those of `mlp_only_layers`.
void read_mixture(Settings& settings, DecoderShape& shape) {
  shape.experts = read_experts(settings);
  shape.experts.width = settings.whole("moe_intermediate_size", 1, kMostSize);
  shape.experts.is_normalized = settings.flag_or("norm_topk_prob", false);
  const std::int64_t step = settings.whole_or("decoder_sparse_step", 1, 1, 1024);
  std::vector<bool> has_experts;
  for (std::int64_t i = 0; i < shape.layers; ++i) has_experts.push_back((i + 1) % step == 0);
  const nlohmann::json plain = settings.value("mlp_only_layers");
  if (!plain.is_null() && !plain.is_array()) {
    settings.fail(invalid_argument("mlp_only_layers: expected a list of layers"));
  }
  for (const nlohmann::json& layer : plain) {
    for (std::size_t i = 0; i < has_experts.size(); ++i) {
      if (layer == i) has_experts[i] = false;
    }
  }
  shape.experts.is_in_layer = std::move(has_experts);
}

}  // namespace

DecoderShape read_qwen2_moe(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  shape.has_qkv_bias = settings.flag_or("qkv_bias", true);
  require_full_attention(settings);
  read_mixture(settings, shape);
  shape.experts.shared_width = settings.whole("shared_expert_intermediate_size", 0, kMostSize);
  return shape;
}

DecoderShape read_qwen3_moe(Settings& settings) {
  DecoderShape shape = read_qwen3(settings);
  read_mixture(settings, shape);
  return shape;
}

DecoderShape read_qwen3(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  shape.has_qkv_bias = settings.flag_or("attention_bias", false);
  shape.has_output_bias = shape.has_qkv_bias;
  shape.has_head_norms = true;
  require_full_attention(settings);
  return shape;
}

}  // namespace sluice::recipes
