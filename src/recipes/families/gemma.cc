// Source: the configurations and models "gemma" and "gemma3_text" of transformers.
#include <cmath>
#include <string>
#include <vector>

#include "recipes/families/families.h"
#include "recipes/parts/rotation.h"

namespace sluice::recipes {
namespace {

constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24;

/// All say GELU by tanh; "gelu" is what the first files say and mean by it.
void check_bend(Settings& settings) {
  const std::string name =
      settings.text_or("hidden_activation", settings.text_or("hidden_act", "gelu_pytorch_tanh"));
  if (name == "gelu_pytorch_tanh" || name == "gelu") return;
  settings.fail(
      unimplemented("hidden_activation: \"{}\" is not supported; gelu_pytorch_tanh is", name));
}

/// What both have.
DecoderShape read_family(Settings& settings) {
  DecoderShape shape = read_decoder(settings, "");
  check_bend(settings);
  shape.has_gelu = true;
  shape.has_norms_around_1 = true;
  shape.is_tied = settings.flag_or("tie_word_embeddings", true);
  shape.has_qkv_bias = settings.flag_or("attention_bias", false);
  shape.has_output_bias = shape.has_qkv_bias;
  shape.input_scale = std::sqrt(static_cast<float>(shape.width));
  return shape;
}

/// Layers that see a window: the list of them, or all but each sixth one.
std::vector<bool> read_local(Settings& settings, std::int64_t layers) {
  constexpr std::int64_t kPattern = 6;
  const std::int64_t other = settings.whole_or("_sliding_window_pattern", kPattern, 1, kMostPlaces);
  const std::int64_t pattern = settings.whole_or("sliding_window_pattern", other, 1, kMostPlaces);
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

}  // namespace

DecoderShape read_gemma(Settings& settings) { return read_family(settings); }

DecoderShape read_gemma3(Settings& settings) {
  DecoderShape shape = read_family(settings);
  shape.has_head_norms = true;
  shape.has_norms_behind = true;
  shape.window = settings.whole_or("sliding_window", 4096, 1, kMostPlaces);
  shape.is_local = read_local(settings, shape.layers);
  const double theta = settings.number_or("rope_local_base_freq", 10000);
  if (theta <= 0) {
    settings.fail(invalid_argument("rope_local_base_freq: expected a number above 0"));
    return shape;
  }
  shape.local_rotation = plain_rotation(theta, shape.head_size);
  const auto scalar = static_cast<float>(settings.number_or("query_pre_attn_scalar", 256));
  if (scalar <= 0) {
    settings.fail(invalid_argument("query_pre_attn_scalar: expected a number above 0"));
  }
  shape.attention_scale = 1 / std::sqrt(scalar);
  // Of how caches are made elsewhere. Files of this family that cap logits are not known.
  settings.ignore({"cache_implementation"});
  return shape;
}

}  // namespace sluice::recipes
