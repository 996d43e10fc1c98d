// Keys and names of tensors are those of gguf-py/gguf/constants.py of
// github.com/ggml-org/llama.cpp.
#include "recipes/gguf/gguf_settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/parts/settings.h"

namespace sluice::recipes {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 24;
constexpr std::string_view kFactors = "rope_freqs.weight";
constexpr std::string_view kTable = "token_embd.weight";

/// Architectures with the model_type of their recipe.
struct Architecture {
  std::string_view name;
  bool is_interleaved;  ///< pairs that turn together are neighbours
};
constexpr std::array<Architecture, 3> kArchitectures = {
    {{"llama", true}, {"qwen2", false}, {"qwen3", false}}};

/// Tensors of a layer behind "blk.N.", and of the whole model.
constexpr std::pair<std::string_view, std::string_view> kLayerNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"}};
constexpr std::pair<std::string_view, std::string_view> kModelNames[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

std::string name_of_transformers(const std::string& name) {
  const std::size_t last = name.rfind('.');
  if (last == std::string::npos) return name;
  const std::string_view end = std::string_view(name).substr(last);  // ".weight", ".bias"
  std::string_view stem = std::string_view(name).substr(0, last);
  for (const auto& [given, theirs] : kModelNames) {
    if (stem == given) return fmt::format("{}{}", theirs, end);
  }
  constexpr std::string_view kLayer = "blk.";
  const std::size_t dot = stem.find('.', kLayer.size());
  if (!stem.starts_with(kLayer) || dot == std::string_view::npos) return name;
  const std::string_view number = stem.substr(kLayer.size(), dot - kLayer.size());
  stem.remove_prefix(dot + 1);
  for (const auto& [given, theirs] : kLayerNames) {
    if (stem == given) return fmt::format("model.layers.{}.{}{}", number, theirs, end);
  }
  return name;
}

Result<Architecture> architecture_of(const nlohmann::json& metadata) {
  Settings settings(metadata);
  const std::string name = settings.text_or("general.architecture", "");
  if (!settings.has("general.architecture")) {
    return invalid_argument("general.architecture: missing");
  }
  const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (found != kArchitectures.end()) return *found;
  return unimplemented(
      "general.architecture: there is no recipe for \"{}\"; there are llama, qwen2, qwen3", name);
}

/// The keys of one architecture, without its name.
Settings settings_of(const nlohmann::json& metadata, std::string_view architecture) {
  const std::string prefix = std::string(architecture) + ".";
  nlohmann::json own = nlohmann::json::object();
  for (const auto& [key, value] : metadata.items()) {
    if (key.starts_with(prefix)) own[key.substr(prefix.size())] = value;
  }
  return Settings(std::move(own), prefix);
}

Status check_whole(const nlohmann::json& metadata) {
  Settings settings(metadata);
  const std::int64_t files = settings.whole_or("split.count", 1, 0, kMost);
  if (files < 2) return ok_status();
  return unimplemented("split.count: the model lies in {} files, and one is read", files);
}

/// [heads, head_size] and other sizes.
void read_sizes(Settings& settings, nlohmann::json& config) {
  const std::int64_t width = settings.whole("embedding_length", 1, kMost);
  const std::int64_t heads = settings.whole("attention.head_count", 1, 4096);
  const std::int64_t size = settings.whole_or("attention.key_length", width / heads, 1, 4096);
  if (settings.whole_or("attention.value_length", size, 1, 4096) != size ||
      settings.whole_or("rope.dimension_count", size, 1, 4096) != size) {
    settings.fail(unimplemented(
        "attention.value_length and rope.dimension_count must be the size of a head, {}", size));
  }
  config["hidden_size"] = width;
  config["num_attention_heads"] = heads;
  config["head_dim"] = size;
  config["num_key_value_heads"] = settings.whole_or("attention.head_count_kv", heads, 1, 4096);
  config["num_hidden_layers"] = settings.whole("block_count", 1, 1024);
  config["intermediate_size"] = settings.whole("feed_forward_length", 1, kMost);
  config["max_position_embeddings"] = settings.whole("context_length", 1, kMost);
  config["rms_norm_eps"] = settings.number("attention.layer_norm_rms_epsilon");
  settings.ignore({"vocab_size"});  // the table's rows say it
  if (settings.whole_or("expert_count", 0, 0, kMost) > 0) {
    settings.fail(unimplemented("expert_count: mixtures of experts are not supported"));
  }
  settings.ignore({"expert_used_count"});
}

void read_turning(Settings& settings, const weights::Weights& weights, nlohmann::json& config) {
  config["rope_theta"] = settings.number_or("rope.freq_base", 10000);
  const std::string kind = settings.text_or("rope.scaling.type", "none");
  double factor = settings.number_or("rope.scaling.factor", 1);
  if (kind != "none" && kind != "linear") {
    settings.fail(
        unimplemented("rope.scaling.type: \"{}\" is not supported; none and linear are", kind));
  }
  if (kind == "none") factor = 1;
  settings.ignore({"rope.scaling.original_context_length", "rope.scaling.finetuned"});
  if (const ir::Constant* given = weights.find(kFactors)) {
    auto factors = ir::float_values(*given).value_or(std::vector<double>());
    for (double& value : factors) value *= factor;
    config["rope_scaling"] = {{"rope_type", "factors"}, {"factors", factors}};
  } else if (factor != 1) {
    config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", factor}};
  }
}

/// [vocabulary, width]. Nullopt without a table.
std::optional<std::vector<std::int64_t>> table_dims(const weights::Weights& weights) {
  if (const ir::Constant* table = weights.find(kTable)) return table->type.static_dims();
  const weights::Blocks* blocks = weights.find_blocks(kTable);
  return blocks == nullptr ? std::nullopt : blocks->numbers.type.static_dims();
}

bool has(const weights::Weights& weights, std::string_view name) {
  return weights.find(name) != nullptr || weights.find_blocks(name) != nullptr;
}

/// Tokens that end a text: of the whole, of a turn, of a message.
nlohmann::json stops_of(const nlohmann::json& metadata) {
  nlohmann::json stops = nlohmann::json::array();
  for (const char* name : {"eos", "eot", "eom"}) {
    const auto id = metadata.find(fmt::format("tokenizer.ggml.{}_token_id", name));
    if (id != metadata.end() && std::ranges::find(stops, *id) == stops.end()) stops.push_back(*id);
  }
  return stops;
}

}  // namespace

Result<nlohmann::json> gguf_config(const nlohmann::json& metadata,
                                   const weights::Weights& weights) {
  SLUICE_TRY(check_whole(metadata));
  const Architecture architecture = SLUICE_TRY(architecture_of(metadata));
  Settings settings = settings_of(metadata, architecture.name);
  nlohmann::json config = {{"model_type", architecture.name}, {"hidden_act", "silu"}};
  read_sizes(settings, config);
  read_turning(settings, weights, config);
  SLUICE_TRY(settings.finish());
  const auto dims = table_dims(weights);
  if (!dims || dims->size() != 2) {
    return invalid_argument("tensor \"{}\" is missing, or no matrix", kTable);
  }
  config["vocab_size"] = dims->front();
  config["tie_word_embeddings"] = !has(weights, "output.weight");
  config["attention_bias"] = architecture.name != "qwen2" && has(weights, "blk.0.attn_q.bias");
  config["rope_interleaved"] = architecture.is_interleaved;
  config["eos_token_id"] = stops_of(metadata);
  return config;
}

nlohmann::json gguf_sampling(const nlohmann::json& metadata) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"temp", "temperature"},
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"penalty_repeat", "repetition_penalty"}};
  nlohmann::json sampling = nlohmann::json::object();
  for (const auto& [given, theirs] : kNames) {
    const auto found = metadata.find(std::string("general.sampling.") + given);
    if (found != metadata.end()) sampling[theirs] = *found;
  }
  if (!sampling.empty()) sampling["do_sample"] = true;
  return sampling;
}

weights::Weights with_names_of_transformers(const weights::Weights& weights) {
  weights::Weights::Map map;
  for (const auto& [name, constant] : weights) {
    if (name != kFactors) map.emplace(name_of_transformers(name), constant);
  }
  weights::Weights::BlockMap blocks;
  for (const auto& [name, matrix] : weights.blocks()) {
    blocks.emplace(name_of_transformers(name), matrix);
  }
  return weights::Weights(std::move(map), std::move(blocks));
}

}  // namespace sluice::recipes
