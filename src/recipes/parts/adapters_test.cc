#include "recipes/parts/adapters.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::recipes {
namespace {

using nlohmann::json;

json plain() {
  return {{"peft_type", "LORA"}, {"r", 8}, {"lora_alpha", 16}, {"target_modules", {"q_proj"}}};
}

AdapterSettings read(const json& config) {
  Settings settings(config);
  AdapterSettings read = read_adapter(settings);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
  return read;
}

std::string refusal(json config, const char* name, json value) {
  config[name] = std::move(value);
  Settings settings(std::move(config));
  read_adapter(settings);
  return settings.finish().is_ok() ? "" : settings.finish().message();
}

TEST(AdapterSource, IsANameAndAFolder) {
  const auto source = AdapterSource::parse("sql=a=b/c");
  ASSERT_TRUE(source.is_ok());
  EXPECT_EQ(source->name, "sql");
  EXPECT_EQ(source->folder, "a=b/c");
  for (const char* text : {"", "=", "sql", "sql=", "=a"}) {
    EXPECT_FALSE(AdapterSource::parse(text).is_ok()) << text;
  }
}

TEST(AdapterSettings, ScaleByTheRankOrItsRoot) {
  EXPECT_EQ(read(plain()).scale_of("model.layers.0.q_proj", 8), 2);
  EXPECT_EQ(read(plain()).scale_of("model.layers.0.q_proj", 4), 4) << "of a rank_pattern";
  json config = plain();
  config["use_rslora"] = true;
  EXPECT_FLOAT_EQ(read(config).scale_of("q_proj", 8), 16 / std::sqrt(8.0F));
  config.erase("lora_alpha");
  EXPECT_FLOAT_EQ(read(config).scale_of("q_proj", 4), 4) << "8, as PEFT has it";
}

TEST(AdapterSettings, ScaleModulesOfTheirOwnStrength) {
  json config = plain();
  config["alpha_pattern"] = {{"q_proj", 8}, {"layers.1.k_proj", 32}};
  const AdapterSettings settings = read(config);
  EXPECT_EQ(settings.scale_of("model.layers.0.q_proj", 8), 1);
  EXPECT_EQ(settings.scale_of("model.layers.0.sq_proj", 8), 2) << "another module";
  EXPECT_EQ(settings.scale_of("model.layers.1.k_proj", 8), 4);
  EXPECT_EQ(settings.scale_of("model.layers.11.k_proj", 8), 2);
}

TEST(AdapterSettings, RefuseOtherWaysToAdapt) {
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, json>>{{"peft_type", "IA3"},
                                                 {"use_dora", true},
                                                 {"lora_bias", true},
                                                 {"bias", "lora_only"},
                                                 {"init_lora_weights", "olora"},
                                                 {"modules_to_save", {"lm_head"}},
                                                 {"layer_replication", {{0, 1}}},
                                                 {"alpha_pattern", 3},
                                                 {"alpha_pattern", {{"layers.*", 3}}},
                                                 {"alpha_pattern", {{"q_proj", nullptr}}},
                                                 {"lora_alpha", "many"}}) {
    EXPECT_NE(refusal(plain(), name, value).find(name), std::string::npos) << value.dump();
  }
}

TEST(Adapters, WithoutFoldersChangeNothing) {
  Adapters none = Adapters::open({}).value();
  EXPECT_TRUE(none.is_empty());
  EXPECT_FALSE(none.find("model.layers.0.q_proj.weight", 4, 4).value());
  EXPECT_TRUE(none.check_all_taken().is_ok());
}

}  // namespace
}  // namespace sluice::recipes
