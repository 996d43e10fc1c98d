#include "recipes/families/families.h"

namespace sluice::recipes {
namespace {

/// Where a file names none; null means none (transformers' MistralConfig).
constexpr std::int64_t kDefaultWindow = 4096;

void read_window(Settings& settings, DecoderShape& shape) {
  if (settings.has("sliding_window")) {
    shape.window = settings.whole("sliding_window", 1, kMostSize);
  }
}

}  // namespace

DecoderShape read_mistral(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  read_window(settings, shape);
  if (!settings.names("sliding_window")) shape.window = kDefaultWindow;
  return shape;
}

DecoderShape read_mixtral(Settings& settings) {
  DecoderShape shape = read_decoder(settings, {.theta = 1e6, .epsilon = 1e-5});
  read_window(settings, shape);
  shape.is_interleaved = settings.flag_or("rope_interleaved", false);
  shape.experts = read_experts(settings);
  shape.experts.width = shape.inner_width;
  shape.experts.is_normalized = true;
  // Files of GGUF have the names of Qwen.
  if (settings.flag_or("experts_in_mlp", false)) return shape;
  shape.experts.router = "block_sparse_moe.gate";
  shape.experts.gate = "block_sparse_moe.experts.{}w1";
  shape.experts.up = "block_sparse_moe.experts.{}w3";
  shape.experts.down = "block_sparse_moe.experts.{}w2";
  return shape;
}

}  // namespace sluice::recipes
