// Source: the configuration and model "gpt2" of transformers.
#include "recipes/families/families.h"

namespace sluice::recipes {
namespace {

constexpr DecoderNames kGpt2Names = {.prefix = "transformer.",
                                     .table = "wte",
                                     .positions = "wpe",
                                     .layer = "h.{}.",
                                     .last_norm = "ln_f",
                                     .attention_norm = "ln_1",
                                     .joined = "attn.c_attn",
                                     .attention_output = "attn.c_proj",
                                     .inner_norm = "ln_2",
                                     .gate = {},
                                     .up = "mlp.c_fc",
                                     .down = "mlp.c_proj"};

}  // namespace

DecoderShape read_gpt2(Settings& settings) {
  DecoderShape shape;
  shape.names = kGpt2Names;
  // Masks of causal attention, in the first files.
  shape.names.ignored = {"attn.bias", "attn.masked_bias"};
  shape.vocabulary = settings.whole("vocab_size", 1, kMostSize);
  shape.width = settings.whole("n_embd", 1, kMostSize);
  shape.inner_width = settings.whole_or("n_inner", 4 * shape.width, 1, 4 * kMostSize);
  shape.layers = settings.whole("n_layer", 1, 1024);
  shape.heads = settings.whole("n_head", 1, 4096);
  shape.key_heads = shape.heads;
  shape.head_size = shape.width / shape.heads;
  shape.context = settings.whole("n_positions", 1, kMostSize);
  shape.epsilon = static_cast<float>(settings.number_or("layer_norm_epsilon", 1e-5));
  shape.is_tied = settings.flag_or("tie_word_embeddings", true);
  // Files of GGUF have the transposes.
  shape.is_straight = settings.flag_or("matrices_are_in_out", true);
  shape.has_qkv_bias = true;
  shape.has_output_bias = true;
  shape.has_inner_bias = true;
  shape.has_gelu = true;
  shape.has_mean_norms = true;
  if (shape.head_size * shape.heads != shape.width) {
    settings.fail(
        invalid_argument("{} numbers cannot be divided into {} heads", shape.width, shape.heads));
  }
  settings.require_text("activation_function", "gelu_new");
  settings.require_flag("scale_attn_weights", true);
  settings.require_flag("scale_attn_by_inverse_layer_idx", false);
  settings.require_flag("add_cross_attention", false);
  // Settings of training, of another head, and of how others compute.
  settings.ignore({"attn_pdrop", "embd_pdrop", "gradient_checkpointing", "n_ctx",
                   "reorder_and_upcast_attn", "resid_pdrop", "summary_activation",
                   "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                   "summary_use_proj", "task_specific_params"});
  return shape;
}

}  // namespace sluice::recipes
