// Names of tensors are those of gguf-py/gguf/constants.py of github.com/ggml-org/llama.cpp.
#include "recipes/gguf/architectures.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "recipes/parts/settings.h"

namespace sluice::recipes {
namespace {

/// Tensors of a layer behind "blk.N.", and of the whole model.
constexpr NamePair kLayerTensors[] = {{"attn_norm", "input_layernorm"},
                                      {"attn_q", "self_attn.q_proj"},
                                      {"attn_k", "self_attn.k_proj"},
                                      {"attn_v", "self_attn.v_proj"},
                                      {"attn_output", "self_attn.o_proj"},
                                      {"attn_q_norm", "self_attn.q_norm"},
                                      {"attn_k_norm", "self_attn.k_norm"},
                                      {"ffn_norm", "post_attention_layernorm"},
                                      {"ffn_gate", "mlp.gate_proj"},
                                      {"ffn_up", "mlp.up_proj"},
                                      {"ffn_down", "mlp.down_proj"},
                                      {"ffn_gate_inp", "mlp.gate"},
                                      {"ffn_gate_exps", "mlp.experts.gate_proj"},
                                      {"ffn_up_exps", "mlp.experts.up_proj"},
                                      {"ffn_down_exps", "mlp.experts.down_proj"},
                                      {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                      {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                      {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                      {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
constexpr NamePair kModelTensors[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

constexpr NamePair kNormsBehind[] = {{"ffn_norm", "pre_feedforward_layernorm"},
                                     {"post_attention_norm", "post_attention_layernorm"},
                                     {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr NamePair kJoined[] = {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}};
constexpr NamePair kGpt2[] = {{"token_embd", "transformer.wte"},
                              {"position_embd", "transformer.wpe"},
                              {"output_norm", "transformer.ln_f"},
                              {"attn_norm", "ln_1"},
                              {"attn_qkv", "attn.c_attn"},
                              {"attn_output", "attn.c_proj"},
                              {"ffn_norm", "ln_2"},
                              {"ffn_up", "mlp.c_fc"},
                              {"ffn_down", "mlp.c_proj"}};

constexpr Architecture kArchitectures[] = {{"llama", "llama", "mixtral", true},
                                           {"qwen2", "qwen2"},
                                           {"qwen3", "qwen3"},
                                           {"qwen2moe", "qwen2_moe"},
                                           {"qwen3moe", "qwen3_moe"},
                                           {"smollm3", "smollm3", {}, true},
                                           {"gemma", "gemma"},
                                           {"gemma2", "gemma2", {}, false, kNormsBehind},
                                           {"gemma3", "gemma3_text", {}, false, kNormsBehind},
                                           {"phi3", "phi3", {}, false, kJoined},
                                           {"gpt2", "gpt2", {}, false, kGpt2}};

std::string_view find_name(std::span<const NamePair> names, std::string_view stem) {
  const auto found = std::ranges::find(names, stem, &NamePair::first);
  return found == names.end() ? std::string_view() : found->second;
}

}  // namespace

Result<Architecture> architecture_of(const nlohmann::json& metadata) {
  Settings settings(metadata);
  const std::string name = settings.text_or("general.architecture", "");
  if (!settings.has("general.architecture")) {
    return invalid_argument("general.architecture: missing");
  }
  const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (found != std::end(kArchitectures)) return *found;
  std::string names;
  for (const Architecture& known : kArchitectures) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return unimplemented("general.architecture: there is no recipe for \"{}\"; there are {}", name,
                       names);
}

std::string name_of_transformers(const Architecture& architecture, const std::string& name) {
  const std::size_t last = name.rfind('.');
  if (last == std::string::npos) return name;
  const std::string_view end = std::string_view(name).substr(last);  // ".weight", ".bias"
  std::string_view stem = std::string_view(name).substr(0, last);
  constexpr std::string_view kLayer = "blk.";
  const std::size_t dot = stem.find('.', kLayer.size());
  const bool is_of_layer = stem.starts_with(kLayer) && dot != std::string_view::npos;
  const std::string_view number =
      is_of_layer ? stem.substr(kLayer.size(), dot - kLayer.size()) : "";
  if (is_of_layer) stem.remove_prefix(dot + 1);
  std::string_view theirs = find_name(architecture.names, stem);
  if (theirs.empty()) {
    theirs = is_of_layer ? find_name(kLayerTensors, stem) : find_name(kModelTensors, stem);
  }
  if (theirs.empty()) return name;
  if (!is_of_layer) return fmt::format("{}{}", theirs, end);
  const std::string_view layers =
      architecture.family == "gpt2" ? "transformer.h." : "model.layers.";
  return fmt::format("{}{}.{}{}", layers, number, theirs, end);
}

}  // namespace sluice::recipes
