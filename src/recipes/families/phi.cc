// Source: the configuration and model "phi3" of transformers: Phi-3, 3.5 and 4.
#include "recipes/families/families.h"

namespace sluice::recipes {

DecoderShape read_phi3(Settings& settings) {
  DecoderShape shape = read_decoder(settings, {.epsilon = 1e-5});
  shape.names.joined = "self_attn.qkv_proj";
  shape.names.joined_up = "mlp.gate_up_proj";
  shape.has_qkv_bias = settings.flag_or("attention_bias", false);
  shape.has_output_bias = shape.has_qkv_bias;
  if (settings.has("sliding_window")) {
    shape.window = settings.whole("sliding_window", 1, kMostSize);
  }
  // Settings of training, and of code that the hub keeps beside the weights.
  settings.ignore({"auto_map", "embd_pdrop", "full_attn_mod", "interpolate_factor", "lm_head_bias",
                   "mlp_bias", "resid_pdrop"});
  return shape;
}

}  // namespace sluice::recipes
