#include "recipes/recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "recipes/embedding_facts.h"
#include "recipes/generation_facts.h"
#include "support/paths.h"

namespace sluice::recipes {
namespace {

using nlohmann::json;

json tiny_config() {
  return {{"model_type", "llama"},        {"vocab_size", 11},       {"hidden_size", 8},
          {"intermediate_size", 12},      {"num_hidden_layers", 2}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2},     {"hidden_act", "silu"},   {"max_position_embeddings", 64},
          {"tie_word_embeddings", false}, {"eos_token_id", {1, 2}}, {"torch_dtype", "float32"}};
}

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

Shapes tiny_weights() {
  Shapes shapes = {{"model.embed_tokens.weight", {11, 8}},
                   {"lm_head.weight", {11, 8}},
                   {"model.norm.weight", {8}}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    shapes.insert({{layer + "input_layernorm.weight", {8}},
                   {layer + "post_attention_layernorm.weight", {8}},
                   {layer + "self_attn.q_proj.weight", {8, 8}},
                   {layer + "self_attn.k_proj.weight", {4, 8}},
                   {layer + "self_attn.v_proj.weight", {4, 8}},
                   {layer + "self_attn.o_proj.weight", {8, 8}},
                   {layer + "mlp.gate_proj.weight", {12, 8}},
                   {layer + "mlp.up_proj.weight", {12, 8}},
                   {layer + "mlp.down_proj.weight", {8, 12}}});
  }
  return shapes;
}

/// A folder of a model whose weights are zeros.
class Folder {
 public:
  Folder(const json& config, const Shapes& shapes, const char* element = "F32") {
    json header = json::object();
    std::int64_t end = 0;
    for (const auto& [name, dims] : shapes) {
      std::int64_t bytes = std::string(element) == "F32" ? 4 : 2;
      for (const std::int64_t dim : dims) bytes *= dim;
      header[name] = {{"dtype", element}, {"shape", dims}, {"data_offsets", {end, end + bytes}}};
      end += bytes;
    }
    const std::string text = header.dump();
    std::string length(8, '\0');
    for (int i = 0; i < 3; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
    write("model.safetensors", length + text + std::string(static_cast<std::size_t>(end), '\0'));
    write("config.json", config.dump());
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Result<Model> read(ir::ElementType cache = ir::ElementType::kF32) const {
    return read_model(folder_.path(), cache);
  }
  std::string error() const {
    const auto model = read();
    return model.is_ok() ? "" : model.status().message();
  }

 private:
  sluice::testing::TempDir folder_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string type_of(const ir::Graph& graph, std::string_view name) {
  const ir::Subgraph& main = graph.main();
  for (const auto& ids : {main.inputs, main.outputs}) {
    for (const ir::OperandId id : ids) {
      if (main.operand(id).name == name) return main.operand(id).type.to_string();
    }
  }
  return "";
}

TEST(Recipe, MakesADecoderWithAStatePerLayer) {
  for (const char* element : {"F32", "BF16", "F16"}) {
    const auto model = Folder(tiny_config(), tiny_weights(), element).read();
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    EXPECT_EQ(model->graph.main().inputs.size(), 9U);
    EXPECT_EQ(type_of(model->graph, "ids"), "i64[S]");
    EXPECT_EQ(type_of(model->graph, "state.keys.1"), "f32[P,2,32,2]");
    EXPECT_EQ(type_of(model->graph, "state.values.1.next"), "f32[P,2,32,2]");
    EXPECT_EQ(type_of(model->graph, "tables"), "i64[N,B]");
    EXPECT_EQ(type_of(model->graph, "logits"), "f32[N,11]");
    EXPECT_FALSE(model->graph.metadata.contains("batch_symbol"));
  }
}

TEST(Recipe, KeepsKeysAndValuesInTheNumbersAskedFor) {
  const std::pair<ir::ElementType, const char*> cases[] = {{ir::ElementType::kF16, "f16[P,2,32,2]"},
                                                           {ir::ElementType::kI8, "i8[P,2,32,6]"}};
  for (const auto& [cache, type] : cases) {
    const auto model = Folder(tiny_config(), tiny_weights()).read(cache);
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    EXPECT_EQ(type_of(model->graph, "state.keys.1"), type);
    EXPECT_EQ(type_of(model->graph, "state.values.1.next"), type);
    EXPECT_EQ(type_of(model->graph, "logits"), "f32[N,11]");
  }
}

TEST(Recipe, MakesAnEncoderOfRows) {
  const json config = {{"model_type", "bert"},   {"vocab_size", 11},
                       {"hidden_size", 8},       {"intermediate_size", 12},
                       {"num_hidden_layers", 1}, {"num_attention_heads", 2},
                       {"hidden_act", "gelu"},   {"max_position_embeddings", 64},
                       {"type_vocab_size", 2},   {"architectures", {"BertModel"}}};
  Shapes shapes = {{"embeddings.word_embeddings.weight", {11, 8}},
                   {"embeddings.position_embeddings.weight", {64, 8}},
                   {"embeddings.token_type_embeddings.weight", {2, 8}},
                   {"embeddings.LayerNorm.gamma", {8}},
                   {"embeddings.LayerNorm.beta", {8}},
                   {"pooler.dense.weight", {8, 8}}};
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    shapes.insert({{name + ".weight", {out, in}}, {name + ".bias", {out}}});
  };
  const std::string layer = "encoder.layer.0.";
  for (const char* part : {"self.query", "self.key", "self.value", "output.dense"}) {
    linear(layer + "attention." + part, 8, 8);
  }
  linear(layer + "intermediate.dense", 12, 8);
  linear(layer + "output.dense", 8, 12);
  for (const char* norm : {"attention.output.LayerNorm", "output.LayerNorm"}) {
    shapes.insert({{layer + norm + ".weight", {8}}, {layer + norm + ".bias", {8}}});
  }
  Folder folder(config, shapes);
  folder.write("sentence_bert_config.json", R"({"max_seq_length":32})");
  const auto model = folder.read();
  ASSERT_TRUE(model.is_ok()) << model.status().message();
  EXPECT_EQ(type_of(model->graph, "ids"), "i64[N,S]");
  EXPECT_EQ(type_of(model->graph, "types"), "i64[N,S]");
  EXPECT_EQ(type_of(model->graph, "vectors"), "f32[N,8]");
  EXPECT_EQ(model->graph.metadata.at("batch_symbol"), "N");
  EXPECT_EQ(json::parse(model->graph.metadata.at(kEmbeddingFact)),
            json({{"context", 32}, {"padding", 0}, {"normalized", false}}));
  shapes.erase(layer + "output.dense.bias");
  EXPECT_TRUE(has(Folder(config, shapes).error(), "output.dense.bias\" is missing"));
}

TEST(Recipe, KeepsGenerationSettingsAndTextFiles) {
  Folder folder(tiny_config(), tiny_weights());
  folder.write("generation_config.json", R"({"eos_token_id":9,"temperature":0.6,"top_k":20})");
  folder.write("tokenizer.json", "{}");
  const auto model = folder.read();
  ASSERT_TRUE(model.is_ok()) << model.status().message();
  const json facts = json::parse(model->graph.metadata.at(kGenerationFact));
  EXPECT_EQ(facts, json({{"context", 64}, {"stop", {9}}, {"temperature", 0.6}, {"top_k", 20}}));
  EXPECT_EQ(model->files.count("tokenizer.json"), 1U);
  EXPECT_EQ(model->files.size(), 1U);
}

TEST(Recipe, SharesOneTableIfItIsTied) {
  json config = tiny_config();
  config["tie_word_embeddings"] = true;
  Shapes shapes = tiny_weights();
  EXPECT_TRUE(has(Folder(config, shapes).error(), "weight \"lm_head.weight\" is not used"));
  shapes.erase("lm_head.weight");
  EXPECT_EQ(Folder(config, shapes).error(), "");
  EXPECT_TRUE(has(Folder(tiny_config(), shapes).error(), "weight \"lm_head.weight\" is missing"));
}

TEST(Recipe, KnowsTheFamiliesByTheirWeights) {
  Shapes biased = tiny_weights(), normed = tiny_weights();
  for (const std::string layer : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
    biased.insert(
        {{layer + "q_proj.bias", {8}}, {layer + "k_proj.bias", {4}}, {layer + "v_proj.bias", {4}}});
    normed.insert({{layer + "q_norm.weight", {2}}, {layer + "k_norm.weight", {2}}});
  }
  const struct {
    const char* family;
    Shapes shapes;
  } cases[] = {
      {"mistral", tiny_weights()}, {"qwen2", biased}, {"qwen3", normed}, {"llama", tiny_weights()}};
  for (const auto& family : cases) {
    json config = tiny_config();
    config["model_type"] = family.family;
    EXPECT_EQ(Folder(config, family.shapes).error(), "");
  }
  EXPECT_TRUE(has(Folder(tiny_config(), biased).error(), "_proj.bias\" is not used"));
}

TEST(Recipe, RefusesSettingsThatChangeTheArithmeticByName) {
  const struct {
    const char* name;
    json value;
    const char* message;
  } cases[] = {
      {"model_type", "gpt9", "there is no recipe for \"gpt9\"; there are llama"},
      {"hidden_act", "gelu", "hidden_act: \"gelu\" is not supported"},
      {"logit_scale", 0.5, "logit_scale: this setting is not known"},
      {"quantization_config", {{"bits", 4}}, "quantization_config: this setting is not known"},
      {"num_key_value_heads", 3, "num_attention_heads must be a multiple"},
      {"head_dim", 3, "head_dim even"},
      {"vocab_size", "many", "vocab_size: expected a whole number"},
      {"num_hidden_layers", nullptr, "num_hidden_layers: missing"},
  };
  for (const auto& wrong : cases) {
    json config = tiny_config();
    config[wrong.name] = wrong.value;
    const std::string message = Folder(config, tiny_weights()).error();
    EXPECT_TRUE(has(message, wrong.message)) << message;
    EXPECT_TRUE(has(message, "config.json")) << message;
  }
  json windowed = tiny_config();
  windowed["model_type"] = "qwen2";
  windowed["use_sliding_window"] = true;
  EXPECT_TRUE(has(Folder(windowed, tiny_weights()).error(), "use_sliding_window: true"));
}

TEST(Recipe, NamesTheWeightThatDoesNotFit) {
  Shapes shapes = tiny_weights();
  shapes["model.layers.1.mlp.up_proj.weight"] = {8, 12};
  const std::string message = Folder(tiny_config(), shapes).error();
  EXPECT_TRUE(has(message, "weight \"model.layers.1.mlp.up_proj.weight\" is f32[8,12]")) << message;
  EXPECT_TRUE(has(message, "[12,8]")) << message;
}

TEST(Recipe, SaysWhichFileIsMissing) {
  const sluice::testing::TempDir folder;
  const auto model = read_model(folder.path());
  EXPECT_EQ(model.status().code(), Code::kNotFound);
  EXPECT_TRUE(has(model.status().message(), "config.json")) << model.status().message();
}

}  // namespace
}  // namespace sluice::recipes
