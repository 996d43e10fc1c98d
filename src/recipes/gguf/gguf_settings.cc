// Keys are those of gguf-py/gguf/constants.py of github.com/ggml-org/llama.cpp.
#include "recipes/gguf/gguf_settings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/gguf/architectures.h"
#include "recipes/parts/settings.h"

namespace sluice::recipes {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 24;
constexpr std::string_view kFactors = "rope_freqs.weight";
constexpr std::string_view kShortFactors = "rope_factors_short.weight";
constexpr std::string_view kLongFactors = "rope_factors_long.weight";
constexpr std::string_view kTable = "token_embd.weight";

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
  if (settings.whole_or("attention.value_length", size, 1, 4096) != size) {
    settings.fail(unimplemented("attention.value_length must be the size of a head, {}", size));
  }
  const std::int64_t turning = settings.whole_or("rope.dimension_count", size, 1, size);
  if (turning != size) {
    config["partial_rotary_factor"] = static_cast<double>(turning) / static_cast<double>(size);
  }
  config["hidden_size"] = width;
  config["num_attention_heads"] = heads;
  config["head_dim"] = size;
  config["num_key_value_heads"] = settings.whole_or("attention.head_count_kv", heads, 1, 4096);
  config["num_hidden_layers"] = settings.whole("block_count", 1, 1024);
  config["intermediate_size"] = settings.whole("feed_forward_length", 1, kMost);
  config["max_position_embeddings"] = settings.whole("context_length", 1, kMost);
  settings.ignore({"vocab_size"});  // the table's rows say it
}

void read_turning(Settings& settings, const weights::Weights& weights, nlohmann::json& config) {
  config["rope_theta"] = settings.number_or("rope.freq_base", 10000);
  const std::string kind = settings.text_or("rope.scaling.type", "none");
  double factor = settings.number_or("rope.scaling.factor", 1);
  if (kind != "none" && kind != "linear" && kind != "longrope") {
    settings.fail(
        unimplemented("rope.scaling.type: \"{}\" is not supported; none and linear are", kind));
  }
  if (kind != "linear") factor = 1;
  const nlohmann::json trained = settings.value("rope.scaling.original_context_length");
  settings.ignore({"rope.scaling.finetuned"});
  const auto factors_of = [&](std::string_view name) {
    return ir::float_values(*weights.find(name)).value_or(std::vector<double>());
  };
  if (weights.find(kFactors) != nullptr) {
    auto factors = factors_of(kFactors);
    for (double& value : factors) value *= factor;
    config["rope_scaling"] = {{"rope_type", "factors"}, {"factors", factors}};
  } else if (weights.find(kShortFactors) != nullptr) {
    config["rope_scaling"] = {{"rope_type", "longrope"},
                              {"short_factor", factors_of(kShortFactors)}};
    if (!trained.is_null()) config["original_max_position_embeddings"] = trained;
    const nlohmann::json scale = settings.value("rope.scaling.attn_factor");
    if (!scale.is_null()) config["rope_scaling"]["attention_factor"] = scale;
  } else if (factor != 1) {
    config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", factor}};
  }
}

/// Adds what llama.cpp's src/llama-model.cpp knows of Gemma besides the keys.
void read_gemma_keys(Settings& settings, const Architecture& architecture, nlohmann::json& config) {
  config.erase("hidden_act");
  config["hidden_activation"] = "gelu_pytorch_tanh";
  config["norms_around_1"] = false;  // the converter adds 1
  if (architecture.name == "gemma") return;
  const bool is_second = architecture.name == "gemma2";
  config["sliding_window"] = settings.whole_or("attention.sliding_window", 4096, 1, kMost);
  if (is_second) {
    config["attn_logit_softcapping"] = settings.number_or("attn_logit_softcapping", 50);
    config["final_logit_softcapping"] = settings.number_or("final_logit_softcapping", 30);
  } else {
    config["rope_local_base_freq"] = settings.number_or("rope.freq_base_swa", 10000);
  }
  // The files of 27 billion weights alone scale by another size than that of a head.
  const bool is_largest = config["num_hidden_layers"] == (is_second ? 46 : 62);
  config["query_pre_attn_scalar"] =
      is_largest ? config["hidden_size"].get<double>() / config["num_attention_heads"].get<double>()
                 : config["head_dim"].get<double>();
}

/// GPT-2's config.json has names of its own, and no rotation.
nlohmann::json gpt2_config(const nlohmann::json& config) {
  return {{"model_type", "gpt2"},
          {"vocab_size", config["vocab_size"]},
          {"n_embd", config["hidden_size"]},
          {"n_inner", config["intermediate_size"]},
          {"n_layer", config["num_hidden_layers"]},
          {"n_head", config["num_attention_heads"]},
          {"n_positions", config["max_position_embeddings"]},
          {"layer_norm_epsilon", config["layer_norm_epsilon"]},
          {"tie_word_embeddings", config["tie_word_embeddings"]},
          {"matrices_are_in_out", false},
          {"eos_token_id", config["eos_token_id"]}};
}

/// Mixtral's shares add up to 1, and Qwen 3's; Qwen 2's do not (llama.cpp's models of that name).
void read_expert_keys(Settings& settings, const Architecture& architecture,
                      nlohmann::json& config) {
  const std::int64_t count = settings.whole_or("expert_count", 0, 0, 1 << 16);
  settings.ignore({"expert_used_count"});
  const nlohmann::json width = settings.value("expert_feed_forward_length");
  const nlohmann::json shared = settings.value("expert_shared_feed_forward_length");
  if (count == 0) return;
  config["num_experts"] = count;
  config["num_experts_per_tok"] = settings.whole("expert_used_count", 1, 1 << 16);
  if (!architecture.mixture.empty()) {
    config["model_type"] = architecture.mixture;
    config["experts_in_mlp"] = true;
    return;
  }
  config["moe_intermediate_size"] = width.is_null() ? config["intermediate_size"] : width;
  config["norm_topk_prob"] = architecture.name == "qwen3moe";
  if (architecture.name != "qwen2moe") return;
  // Its converter leaves the key out where the expert is as wide as a layer without experts.
  config["shared_expert_intermediate_size"] =
      shared.is_null() ? config["intermediate_size"] : shared;
}

void read_family_keys(Settings& settings, const Architecture& architecture,
                      nlohmann::json& config) {
  if (architecture.name == "gpt2") {
    config["layer_norm_epsilon"] = settings.number("attention.layer_norm_epsilon");
    return;
  }
  config["rms_norm_eps"] = settings.number("attention.layer_norm_rms_epsilon");
  if (architecture.name.starts_with("gemma")) read_gemma_keys(settings, architecture, config);
  if (architecture.name == "phi3") {
    const std::int64_t window = settings.whole_or("attention.sliding_window", 0, 0, kMost);
    if (window > 0) config["sliding_window"] = window;
  }
  read_expert_keys(settings, architecture, config);
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
  nlohmann::json config = {{"model_type", architecture.family}, {"hidden_act", "silu"}};
  read_sizes(settings, config);
  read_turning(settings, weights, config);
  read_family_keys(settings, architecture, config);
  SLUICE_TRY(settings.finish());
  const auto dims = table_dims(weights);
  if (!dims || dims->size() != 2) {
    return invalid_argument("tensor \"{}\" is missing, or no matrix", kTable);
  }
  config["vocab_size"] = dims->front();
  config["tie_word_embeddings"] = !has(weights, "output.weight");
  config["attention_bias"] =
      !architecture.name.starts_with("qwen2") && has(weights, "blk.0.attn_q.bias");
  config["rope_interleaved"] = architecture.is_interleaved;
  config["eos_token_id"] = stops_of(metadata);
  return architecture.name == "gpt2" ? gpt2_config(config) : config;
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

Result<weights::Weights> with_names_of_transformers(const nlohmann::json& metadata,
                                                    const weights::Weights& weights) {
  const Architecture architecture = SLUICE_TRY(architecture_of(metadata));
  weights::Weights::Map map;
  for (const auto& [name, constant] : weights) {
    if (name == kFactors || name == kShortFactors || name == kLongFactors) continue;
    map.emplace(name_of_transformers(architecture, name), constant);
  }
  weights::Weights::BlockMap blocks;
  for (const auto& [name, matrix] : weights.blocks()) {
    blocks.emplace(name_of_transformers(architecture, name), matrix);
  }
  return weights::Weights(std::move(map), std::move(blocks));
}

}  // namespace sluice::recipes
