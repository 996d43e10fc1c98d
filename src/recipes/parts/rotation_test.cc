#include "recipes/parts/rotation.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::recipes {
namespace {

Settings settings_of(const char* text) { return Settings(nlohmann::json::parse(text)); }

TEST(Rotation, TurnsPairsByPowersOfTheta) {
  Settings settings = settings_of(R"({"rope_theta":100.0})");
  const auto angles = read_rotation(settings, 4);
  ASSERT_EQ(angles.size(), 2U);
  EXPECT_FLOAT_EQ(angles[0], 1.0F);
  EXPECT_FLOAT_EQ(angles[1], 0.1F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

TEST(Rotation, ReadsTheFormOfTransformers5) {
  Settings settings = settings_of(R"({"rope_parameters":{"rope_theta":100.0,"rope_type":"linear",)"
                                  R"("factor":2.0}})");
  const auto angles = read_rotation(settings, 4);
  EXPECT_FLOAT_EQ(angles[0], 0.5F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

// The second number is 0.9938 * 0.1 / 8 + 0.0062 * 0.1, by the formula of transformers'
// _compute_llama3_parameters.
TEST(Rotation, SlowsSlowPairsAsLlama3Does) {
  Settings settings = settings_of(
      R"({"rope_theta":10000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,)"
      R"("low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64}})");
  const auto angles = read_rotation(settings, 8);
  ASSERT_EQ(angles.size(), 4U);
  EXPECT_FLOAT_EQ(angles[0], 1.0F);           // 10.2 turns: as it was
  EXPECT_NEAR(angles[1], 0.0130423F, 1e-6F);  // 1.02 turns: between
  EXPECT_FLOAT_EQ(angles[2], 0.00125F);       // 0.10 turns: an eighth
  EXPECT_FLOAT_EQ(angles[3], 0.000125F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

TEST(Rotation, RefusesKindsAndSettingsThatItDoesNotKnow) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {R"({"rope_scaling":{"type":"yarn","factor":4.0}})", "\"yarn\" is not supported"},
      {R"({"rope_scaling":{"type":"linear","factor":4.0,"beta":1}})", "rope_scaling.beta"},
      {R"({"rope_scaling":{"type":"linear"}})", "rope_scaling.factor: missing"},
      {R"({"rope_scaling":{"type":"linear","factor":0}})", "above 0"},
      {R"({"rope_scaling":{"type":"linear","factor":-2.0}})", "above 0"},
      {R"({"rope_theta":0})", "rope_theta"},
      {R"({"rope_scaling":[4]})", "rope_scaling"},
  };
  for (const auto& wrong : cases) {
    Settings settings = settings_of(wrong.text);
    read_rotation(settings, 8);
    const std::string message = settings.finish().message();
    EXPECT_NE(message.find(wrong.message), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace sluice::recipes
