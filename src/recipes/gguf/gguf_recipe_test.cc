#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "recipes/gguf/gguf_settings.h"
#include "recipes/gguf/gguf_text_files.h"

namespace sluice::recipes {
namespace {

using nlohmann::json;

json tiny_metadata() {
  return {{"general.architecture", "llama"},     {"llama.context_length", 64U},
          {"llama.embedding_length", 8U},        {"llama.block_count", 2U},
          {"llama.feed_forward_length", 12U},    {"llama.attention.head_count", 4U},
          {"llama.attention.head_count_kv", 2U}, {"llama.attention.layer_norm_rms_epsilon", 1e-5},
          {"tokenizer.ggml.eos_token_id", 2U},   {"tokenizer.ggml.eot_token_id", 7U}};
}

weights::Weights floats(const std::vector<std::pair<std::string, ir::Shape>>& shapes) {
  weights::Weights::Map map;
  for (const auto& [name, shape] : shapes) {
    std::size_t count = 1;
    for (const ir::Dim& dim : shape) count *= static_cast<std::size_t>(dim.value());
    map.emplace(name, ir::make_f32_constant(std::vector<float>(count, 2), shape));
  }
  return weights::Weights(std::move(map));
}

std::string config_error(const json& metadata) {
  return gguf_config(metadata, floats({{"token_embd.weight", {11, 8}}})).status().message();
}

json file_of(const std::map<std::string, Bytes>& files, const char* name) {
  const Bytes& bytes = files.at(name);
  return json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

TEST(GgufConfig, SaysWhatConfigJsonWould) {
  const auto weights = floats({{"token_embd.weight", {11, 8}}, {"rope_freqs.weight", {1}}});
  const auto config = gguf_config(tiny_metadata(), weights);
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_EQ(config->at("vocab_size"), 11);
  EXPECT_EQ(config->at("head_dim"), 2);
  EXPECT_EQ(config->at("rope_interleaved"), true);
  EXPECT_EQ(config->at("tie_word_embeddings"), true);
  EXPECT_EQ(config->at("eos_token_id"), json({2, 7}));
  EXPECT_EQ(config->at("rope_scaling").at("factors"), json({2.0}));
}

TEST(GgufConfig, RefusesKeysThatChangeTheArithmetic) {
  for (const auto& [key, value, part] : std::vector<std::tuple<const char*, json, const char*>>{
           {"llama.logit_scale", 2.0, "llama.logit_scale: this setting is not known"},
           {"llama.attention.value_length", 1U, "must be the size of a head, 2"},
           {"llama.rope.scaling.type", "yarn", "\"yarn\" is not supported"},
           {"llama.expert_count", "many", "llama.expert_count: expected a whole number"},
           {"llama.block_count", "two", "llama.block_count: expected a whole number"},
           {"llama.block_count", nullptr, "llama.block_count: missing"},
           {"split.count", 3U, "the model lies in 3 files"},
           {"general.architecture", "gpt9", "there is no recipe for \"gpt9\""}}) {
    json metadata = tiny_metadata();
    metadata[key] = value;
    EXPECT_NE(config_error(metadata).find(part), std::string::npos) << config_error(metadata);
  }
}

TEST(GgufConfig, NamesWeightsAsTransformersDoes) {
  const auto given = floats({{"blk.11.attn_q.bias", {2}},
                             {"blk.11.ffn_up.weight", {2}},
                             {"output.weight", {2}},
                             {"blk.0.odd.weight", {2}}});
  const auto name = [&](const char* architecture, const char* wanted) {
    const auto named = with_names_of_transformers({{"general.architecture", architecture}}, given);
    return named.is_ok() && named->find(wanted) != nullptr;
  };
  EXPECT_TRUE(name("llama", "model.layers.11.self_attn.q_proj.bias"));
  EXPECT_TRUE(name("llama", "model.layers.11.mlp.up_proj.weight"));
  EXPECT_TRUE(name("llama", "lm_head.weight"));
  EXPECT_TRUE(name("llama", "blk.0.odd.weight"));
  EXPECT_TRUE(name("phi3", "model.layers.11.mlp.gate_up_proj.weight"));
  EXPECT_TRUE(name("gpt2", "transformer.h.11.mlp.c_fc.weight"));
}

TEST(GgufTextFiles, OrderMergesByTheirScores) {
  const json metadata = {{"tokenizer.ggml.model", "llama"},
                         {"tokenizer.ggml.tokens", {"<unk>", "a", "b", "ab", "ba", "aba"}},
                         {"tokenizer.ggml.token_type", {2, 1, 1, 1, 1, 1}},
                         {"tokenizer.ggml.scores", {0.0, -5.0, -6.0, -2.0, -1.0, -3.0}},
                         {"tokenizer.ggml.unknown_token_id", 0U}};
  const auto files = gguf_text_files(metadata);
  ASSERT_TRUE(files.is_ok()) << files.status().message();
  const json model = file_of(*files, "tokenizer.json").at("model");
  EXPECT_EQ(model.at("merges"), json::parse(R"([["b","a"],["a","b"],["a","ba"],["ab","a"]])"));
  EXPECT_EQ(model.at("unk_token"), "<unk>");
  EXPECT_EQ(file_of(*files, "tokenizer_config.json").at("unk_token"), "<unk>");
}

TEST(GgufTextFiles, RefuseListsThatDoNotFit) {
  const json good = {{"tokenizer.ggml.model", "gpt2"},
                     {"tokenizer.ggml.pre", "qwen2"},
                     {"tokenizer.ggml.tokens", {"a", "b"}},
                     {"tokenizer.ggml.merges", {"a b"}},
                     {"tokenizer.ggml.token_type", {1, 1}}};
  ASSERT_TRUE(gguf_text_files(good).is_ok());
  EXPECT_TRUE(gguf_text_files(json::object())->empty());
  for (const auto& [key, value, part] : std::vector<std::tuple<const char*, json, const char*>>{
           {"tokenizer.ggml.tokens", json({"a", 1}), "expected a list of texts"},
           {"tokenizer.ggml.tokens", json({"a", "a"}), "tokens 0 and 1 are both \"a\""},
           {"tokenizer.ggml.token_type", json({1}), "for each of 2 tokens"},
           {"tokenizer.ggml.token_type", json({1, 9}), "token 1 is of no kind"},
           {"tokenizer.ggml.bos_token_id", 2U, "expected the id of a token"},
           {"tokenizer.ggml.pre", "mine", "the way \"mine\" to cut words"},
           {"tokenizer.ggml.model", "rwkv", "\"rwkv\" is not supported"}}) {
    json metadata = good;
    metadata[key] = value;
    const auto files = gguf_text_files(metadata);
    EXPECT_NE(files.status().message().find(part), std::string::npos) << files.status().message();
  }
}

}  // namespace
}  // namespace sluice::recipes
