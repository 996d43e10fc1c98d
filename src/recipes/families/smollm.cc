// Source: the configuration and model "smollm3" of transformers.
#include "recipes/families/families.h"

namespace sluice::recipes {
namespace {

/// A number for each layer, 0 where queries and keys do not turn; without the list each `interval`
/// -th layer does not.
std::vector<bool> read_turned(Settings& settings, std::int64_t layers) {
  const std::int64_t interval = settings.whole_or("no_rope_layer_interval", 4, 1, 1024);
  const nlohmann::json given = settings.value("no_rope_layers");
  std::vector<bool> is_turned;
  for (std::int64_t i = 0; i < layers; ++i) is_turned.push_back((i + 1) % interval != 0);
  if (given.is_null()) return is_turned;
  const bool fits = given.is_array() && std::ssize(given) >= layers;
  for (std::size_t i = 0; fits && i < is_turned.size(); ++i) {
    if (given[i] != 0 && given[i] != 1) {
      settings.fail(invalid_argument("no_rope_layers: expected 0 or 1 for each layer"));
    }
    is_turned[i] = given[i] != 0;
  }
  if (!fits) settings.fail(invalid_argument("no_rope_layers: expected {} numbers", layers));
  return is_turned;
}

}  // namespace

DecoderShape read_smollm3(Settings& settings) {
  DecoderShape shape = read_as_llama(settings, {.theta = 2e6});
  shape.is_tied = settings.flag_or("tie_word_embeddings", true);
  shape.is_turned = read_turned(settings, shape.layers);
  require_full_attention(settings);
  return shape;
}

}  // namespace sluice::recipes
