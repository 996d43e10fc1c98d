// Source: the configurations and models "gemma", "gemma2" and "gemma3_text" of transformers.
#include <cmath>
#include <string>

#include "recipes/families/families.h"

namespace sluice::recipes {
namespace {

/// All say GELU by tanh; "gelu" is what the first files say and mean by it.
void check_bend(Settings& settings) {
  const std::string name =
      settings.text_or("hidden_activation", settings.text_or("hidden_act", "gelu_pytorch_tanh"));
  if (name == "gelu_pytorch_tanh" || name == "gelu") return;
  settings.fail(
      unimplemented("hidden_activation: \"{}\" is not supported; gelu_pytorch_tanh is", name));
}

/// What all have.
DecoderShape read_family(Settings& settings, double theta = kUsualTheta) {
  DecoderShape shape = read_decoder(settings, {.bend = "", .theta = theta});
  check_bend(settings);
  shape.has_gelu = true;
  // Files of GGUF have the sums.
  shape.has_norms_around_1 = settings.flag_or("norms_around_1", true);
  shape.is_tied = settings.flag_or("tie_word_embeddings", true);
  shape.has_qkv_bias = settings.flag_or("attention_bias", false);
  shape.has_output_bias = shape.has_qkv_bias;
  shape.input_scale = std::sqrt(static_cast<float>(shape.width));
  return shape;
}

/// Null means none; `fallback` stands for an absent one.
float read_cap(Settings& settings, const char* name, double fallback) {
  const double cap = settings.number_or(name, settings.names(name) ? 0 : fallback);
  if (cap < 0 || (cap == 0 && settings.has(name))) {
    settings.fail(invalid_argument("{}: expected a number above 0", name));
  }
  return static_cast<float>(cap);
}

/// What Gemma 2 and 3 have besides. All layers but each `pattern`-th one see a window.
DecoderShape read_with_windows(Settings& settings, std::int64_t pattern,
                               double theta = kUsualTheta) {
  DecoderShape shape = read_family(settings, theta);
  shape.has_norms_behind = true;
  shape.window = settings.whole_or("sliding_window", 4096, 1, kMostSize);
  shape.is_local = read_local_layers(settings, shape.layers, pattern);
  const auto scalar = static_cast<float>(settings.number_or("query_pre_attn_scalar", 256));
  if (scalar <= 0) {
    settings.fail(invalid_argument("query_pre_attn_scalar: expected a number above 0"));
  }
  shape.attention_scale = 1 / std::sqrt(scalar);
  settings.require_flag("use_bidirectional_attention", false);
  // A setting of how caches are made elsewhere.
  settings.ignore({"cache_implementation"});
  return shape;
}

}  // namespace

DecoderShape read_gemma(Settings& settings) { return read_family(settings); }

DecoderShape read_gemma2(Settings& settings) {
  constexpr std::int64_t kPattern = 2;
  DecoderShape shape = read_with_windows(settings, kPattern);
  shape.attention_cap = read_cap(settings, "attn_logit_softcapping", 50);
  shape.logit_cap = read_cap(settings, "final_logit_softcapping", 30);
  return shape;
}

DecoderShape read_gemma3(Settings& settings) {
  constexpr std::int64_t kPattern = 6;
  const std::int64_t other = settings.whole_or("_sliding_window_pattern", kPattern, 1, kMostSize);
  const std::int64_t pattern = settings.whole_or("sliding_window_pattern", other, 1, kMostSize);
  DecoderShape shape = read_with_windows(settings, pattern, 1e6);
  shape.has_head_norms = true;
  shape.attention_cap = read_cap(settings, "attn_logit_softcapping", 0);
  shape.logit_cap = read_cap(settings, "final_logit_softcapping", 0);
  const double theta = settings.number_or("rope_local_base_freq", 10000);
  if (theta <= 0) {
    settings.fail(invalid_argument("rope_local_base_freq: expected a number above 0"));
  } else if (shape.local_rotation.angles.empty()) {
    shape.local_rotation.angles = plain_rotation(theta, shape.head_size);
  }
  return shape;
}

}  // namespace sluice::recipes
