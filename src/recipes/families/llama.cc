#include "recipes/families/families.h"

namespace sluice::recipes {

DecoderShape read_llama(Settings& settings) { return read_as_llama(settings, {}); }

DecoderShape read_as_llama(Settings& settings, const DecoderDefaults& defaults) {
  DecoderShape shape = read_decoder(settings, defaults);
  shape.has_qkv_bias = settings.flag_or("attention_bias", false);
  shape.has_output_bias = shape.has_qkv_bias;
  shape.has_inner_bias = settings.flag_or("mlp_bias", false);
  // How a training was split over devices; "is_llama_config" and its like mark converted files.
  settings.ignore({"pretraining_tp", "is_llama_config"});
  shape.is_interleaved = settings.flag_or("rope_interleaved", false);
  return shape;
}

}  // namespace sluice::recipes
