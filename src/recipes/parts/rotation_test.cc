#include "recipes/parts/rotation.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::recipes {
namespace {

Settings settings_of(const char* text) { return Settings(nlohmann::json::parse(text)); }

TEST(Rotation, TurnsPairsByPowersOfTheta) {
  Settings settings = settings_of(R"({"rope_theta":100.0})");
  const auto angles = read_rotation(settings, 4, 64).angles;
  ASSERT_EQ(angles.size(), 2U);
  EXPECT_FLOAT_EQ(angles[0], 1.0F);
  EXPECT_FLOAT_EQ(angles[1], 0.1F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

TEST(Rotation, ReadsTheFormOfTransformers5) {
  Settings settings = settings_of(R"({"rope_parameters":{"rope_theta":100.0,"rope_type":"linear",)"
                                  R"("factor":2.0}})");
  const auto angles = read_rotation(settings, 4, 64).angles;
  EXPECT_FLOAT_EQ(angles[0], 0.5F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

// The second number is 0.9938 * 0.1 / 8 + 0.0062 * 0.1, by the formula of transformers'
// _compute_llama3_parameters.
TEST(Rotation, SlowsSlowPairsAsLlama3Does) {
  Settings settings = settings_of(
      R"({"rope_theta":10000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,)"
      R"("low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64}})");
  const auto angles = read_rotation(settings, 8, 64).angles;
  ASSERT_EQ(angles.size(), 4U);
  EXPECT_FLOAT_EQ(angles[0], 1.0F);           // 10.2 turns: as it was
  EXPECT_NEAR(angles[1], 0.0130423F, 1e-6F);  // 1.02 turns: between
  EXPECT_FLOAT_EQ(angles[2], 0.00125F);       // 0.10 turns: an eighth
  EXPECT_FLOAT_EQ(angles[3], 0.000125F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

TEST(Rotation, TurnsAPartOfAHead) {
  Settings settings = settings_of(R"({"rope_theta":100.0,"partial_rotary_factor":0.5})");
  EXPECT_EQ(read_rotation(settings, 8, 64).pairs(), 2);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
  Settings odd = settings_of(R"({"partial_rotary_factor":0.4})");
  read_rotation(odd, 8, 64);
  EXPECT_NE(odd.finish().message().find("an even part of the 8 numbers"), std::string::npos);
}

TEST(Rotation, ReadsLayersThatTurnOtherwise) {
  Settings settings = settings_of(
      R"({"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8.0,)"
      R"("rope_theta":100.0},"sliding_attention":{"rope_type":"default","rope_theta":10000.0}}})");
  EXPECT_FLOAT_EQ(read_rotation(settings, 4, 64).angles[1], 0.1F / 8);
  EXPECT_FLOAT_EQ(read_local_rotation(settings, 4, 64).angles[1], 0.01F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

// By the formula of transformers' _compute_longrope_parameters: sqrt(1 + ln 4 / ln 64).
TEST(Rotation, TakesLongropesShortFactorsForTheTrainedPositions) {
  Settings settings =
      settings_of(R"({"rope_theta":100.0,"original_max_position_embeddings":64,"rope_scaling":{)"
                  R"("type":"longrope","short_factor":[1.0,2.0],"long_factor":[3.0,4.0]}})");
  const Rotation rotation = read_rotation(settings, 4, 256);
  EXPECT_FLOAT_EQ(rotation.angles[1], 0.05F);
  EXPECT_FLOAT_EQ(rotation.scale, 1.1547005F);
  EXPECT_EQ(rotation.context, 64);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

// The ramp goes from pair 0 (8 / 2 * ln(64 / 64 pi) / ln 100 < 0) to pair 3, by the formula of
// transformers' _compute_yarn_parameters; the last pair is slower by the whole factor.
TEST(Rotation, SlowsPairsByYarnsRamp) {
  Settings settings =
      settings_of(R"({"rope_theta":100.0,"rope_scaling":{"rope_type":"yarn","factor":4.0,)"
                  R"("original_max_position_embeddings":64}})");
  const Rotation rotation = read_rotation(settings, 8, 256);
  EXPECT_FLOAT_EQ(rotation.angles[0], 1.0F);
  EXPECT_FLOAT_EQ(rotation.angles[3], plain_rotation(100, 8)[3] / 4);
  EXPECT_FLOAT_EQ(rotation.scale, 1.1386294F);
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

TEST(Rotation, RefusesKindsAndSettingsThatItDoesNotKnow) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {R"({"rope_scaling":{"type":"dynamic","factor":4.0}})", "\"dynamic\" is not supported"},
      {R"({"rope_scaling":{"type":"linear","factor":4.0,"beta":1}})", "rope_scaling.beta"},
      {R"({"rope_scaling":{"type":"linear"}})", "rope_scaling.factor: missing"},
      {R"({"rope_scaling":{"type":"linear","factor":0}})", "above 0"},
      {R"({"rope_scaling":{"type":"linear","factor":-2.0}})", "above 0"},
      {R"({"rope_theta":0})", "rope_theta"},
      {R"({"rope_scaling":[4]})", "rope_scaling"},
  };
  for (const auto& wrong : cases) {
    Settings settings = settings_of(wrong.text);
    read_rotation(settings, 8, 64);
    const std::string message = settings.finish().message();
    EXPECT_NE(message.find(wrong.message), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace sluice::recipes
