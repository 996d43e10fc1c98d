#include "recipes/parts/settings.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::recipes {
namespace {

Settings of(const char* text) { return Settings(nlohmann::json::parse(text)); }

TEST(Settings, ReadsFieldsAndFallsBackWhereTheyAreAbsentOrNull) {
  Settings settings = of(R"({"a":7,"b":0.5,"c":true,"d":"x","e":null,"r":{"f":3}})");
  EXPECT_EQ(settings.whole("a", 1, 10), 7);
  EXPECT_EQ(settings.whole_or("e", 4, 1, 10), 4);
  EXPECT_EQ(settings.number_or("b", 1), 0.5);
  EXPECT_TRUE(settings.flag_or("c", false));
  EXPECT_EQ(settings.text_or("d", ""), "x");
  Settings inner = settings.inner("r");
  EXPECT_EQ(inner.whole("f", 0, 9), 3);
  EXPECT_TRUE(inner.finish().is_ok());
  EXPECT_TRUE(settings.finish().is_ok()) << settings.finish().message();
}

TEST(Settings, NamesWhatIsMissingOrOfAnotherKind) {
  const struct {
    void (*read)(Settings&);
    const char* message;
  } cases[] = {
      {[](Settings& s) { s.whole("none", 1, 2); }, "none: missing"},
      {[](Settings& s) { s.whole("big", 1, 2); }, "big: expected a whole number between 1 and 2"},
      {[](Settings& s) { s.whole("huge", 1, 1 << 30); }, "huge: expected a whole number"},
      {[](Settings& s) { s.number("text"); }, "text: expected a number"},
      {[](Settings& s) { s.flag_or("text", true); }, "text: expected true or false"},
      {[](Settings& s) { s.text_or("big", ""); }, "big: expected a text"},
      {[](Settings& s) { s.require_text("text", "silu"); }, "text: \"gelu\" is not supported"},
      {[](Settings& s) { s.require_flag("on", false); }, "on: true is not supported"},
  };
  for (const auto& wrong : cases) {
    Settings settings = of(R"({"big":9,"huge":18446744073709551615,"text":"gelu","on":true})");
    wrong.read(settings);
    const std::string message = settings.finish().message();
    EXPECT_NE(message.find(wrong.message), std::string::npos) << message;
  }
}

TEST(Settings, RefusesWhatNobodyReadUnlessItSaysNothing) {
  EXPECT_TRUE(of(R"({"off":false,"none":null,"_name_or_path":"x"})").finish().is_ok());
  const Status refused = of(R"({"logit_scale":0.5})").finish();
  EXPECT_EQ(refused.code(), Code::kUnimplemented);
  EXPECT_NE(refused.message().find("logit_scale"), std::string::npos);
  Settings ignored = of(R"({"use_cache":true})");
  ignored.ignore({"use_cache"});
  EXPECT_TRUE(ignored.finish().is_ok());
}

TEST(Settings, RefusesATextThatIsNoObject) { EXPECT_FALSE(of("[1]").finish().is_ok()); }

}  // namespace
}  // namespace sluice::recipes
