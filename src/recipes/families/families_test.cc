#include "recipes/families/families.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::recipes {
namespace {

using nlohmann::json;

/// Sizes alone, and what readers of experts and gates require.
json sizes() {
  return {{"vocab_size", 11},           {"hidden_size", 8},
          {"intermediate_size", 12},    {"num_hidden_layers", 2},
          {"num_attention_heads", 2},   {"max_position_embeddings", 64},
          {"num_experts", 4},           {"num_experts_per_tok", 2},
          {"moe_intermediate_size", 6}, {"shared_expert_intermediate_size", 6}};
}

struct Family {
  const char* name;
  DecoderShape (*read)(Settings& settings);
  double theta;
  float epsilon;
};

/// The default values of transformers' configuration classes.
constexpr Family kFamilies[] = {
    {"llama", read_llama, 1e4, 1e-6F},         {"mistral", read_mistral, 1e4, 1e-6F},
    {"mixtral", read_mixtral, 1e6, 1e-5F},     {"qwen2", read_qwen2, 1e4, 1e-6F},
    {"qwen3", read_qwen3, 1e4, 1e-6F},         {"qwen2_moe", read_qwen2_moe, 1e4, 1e-6F},
    {"qwen3_moe", read_qwen3_moe, 1e4, 1e-6F}, {"phi3", read_phi3, 1e4, 1e-5F},
    {"smollm3", read_smollm3, 2e6, 1e-6F},     {"gemma", read_gemma, 1e4, 1e-6F},
    {"gemma2", read_gemma2, 1e4, 1e-6F},       {"gemma3_text", read_gemma3, 1e6, 1e-6F}};

TEST(Families, TakeTheDefaultsOfTheirConfigurationClasses) {
  for (const Family& family : kFamilies) {
    Settings settings(sizes());
    const DecoderShape shape = family.read(settings);
    EXPECT_EQ(shape.rotation.angles, plain_rotation(family.theta, 4)) << family.name;
    EXPECT_EQ(shape.epsilon, family.epsilon) << family.name;
  }
}

TEST(Families, TakeWhatTheFileSaysBeforeTheirDefaults) {
  for (const Family& family : kFamilies) {
    json config = sizes();
    config["rope_theta"] = 100.0;
    config["rms_norm_eps"] = 0.5;
    Settings settings(config);
    const DecoderShape shape = family.read(settings);
    EXPECT_EQ(shape.rotation.angles, plain_rotation(100, 4)) << family.name;
    EXPECT_EQ(shape.epsilon, 0.5F) << family.name;
  }
}

TEST(Families, LetLayersOfGemma3WithAWindowTurnFaster) {
  json config = sizes();
  Settings plain(config);
  EXPECT_EQ(read_gemma3(plain).local_rotation.angles, plain_rotation(1e4, 4));
  config["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}}},
                               {"sliding_attention", {{"rope_type", "default"}}}};
  Settings kinds(config);
  const DecoderShape shape = read_gemma3(kinds);
  EXPECT_EQ(shape.rotation.angles, plain_rotation(1e6, 4));
  EXPECT_EQ(shape.local_rotation.angles, plain_rotation(1e4, 4));
}

}  // namespace
}  // namespace sluice::recipes
