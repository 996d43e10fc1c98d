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

DecoderShape read_qwen3(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  shape.has_qkv_bias = settings.flag_or("attention_bias", false);
  shape.has_output_bias = shape.has_qkv_bias;
  shape.has_head_norms = true;
  require_full_attention(settings);
  return shape;
}

}  // namespace sluice::recipes
