// Reads any bytes as the config.json of each family, as a generation_config.json, and as an
// adapter_config.json: each refusal has a message, and a shape without weights makes no graph.
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "recipes/families/families.h"
#include "recipes/generation_facts.h"

namespace {

using sluice::recipes::DecoderShape;
using sluice::recipes::EncoderShape;
using sluice::recipes::Settings;

void check(const sluice::Status& status) {
  if (!status.is_ok() && status.message().empty()) std::abort();
}

void read_decoder(const nlohmann::json& config, DecoderShape (*read)(Settings& settings)) {
  Settings settings(config);
  settings.ignore({"bos_token_id", "do_sample", "eos_token_id", "min_p", "model_type",
                   "repetition_penalty", "temperature", "top_k", "top_p"});
  const DecoderShape shape = read(settings);
  check(settings.finish());
  if (!settings.finish().is_ok()) return;
  sluice::recipes::Adapters none;
  const auto graph = sluice::recipes::make_decoder(shape, {}, none);
  if (graph.is_ok()) std::abort();
  check(graph.status());
  check(sluice::recipes::generation_facts(config, config, shape.context).status());
}

void read_encoder(const nlohmann::json& config, EncoderShape (*read)(Settings& settings)) {
  Settings settings(config);
  read(settings);
  check(settings.finish());
}

void read_adapter(const nlohmann::json& config) {
  Settings settings(config);
  const auto adapter = sluice::recipes::read_adapter(settings);
  check(settings.finish());
  if (settings.finish().is_ok()) adapter.scale_of("model.layers.0.self_attn.q_proj", 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace recipes = sluice::recipes;
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // as of a file that is read
  if (size > kMostBytes) return 0;
  const auto config = nlohmann::json::parse(data, data + size, nullptr, false);
  if (!config.is_object()) return 0;
  for (auto* read :
       {recipes::read_llama, recipes::read_mistral, recipes::read_qwen2, recipes::read_qwen3,
        recipes::read_mixtral, recipes::read_qwen2_moe, recipes::read_qwen3_moe, recipes::read_gpt2,
        recipes::read_phi3, recipes::read_smollm3, recipes::read_gemma, recipes::read_gemma2,
        recipes::read_gemma3}) {
    read_decoder(config, read);
  }
  for (auto* read : {recipes::read_bert, recipes::read_roberta, recipes::read_distilbert}) {
    read_encoder(config, read);
  }
  read_adapter(config);
  return 0;
}
