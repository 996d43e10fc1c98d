#include "options/options.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::options {
namespace {

using ::testing::HasSubstr;

/// A command with `--wait` in seconds.
class SecondsTest : public ::testing::Test {
 protected:
  SecondsTest() { Options(app_).add("--wait", wait_ns_, "Help").takes_seconds(500'000'000); }

  std::int64_t parse(const std::string& text) {
    app_.parse("--wait=" + text);
    return wait_ns_;
  }
  std::string error_of(const std::string& text) {
    try {
      parse(text);
    } catch (const CLI::ValidationError& error) {
      return error.what();
    }
    return "none";
  }

  CLI::App app_;
  std::int64_t wait_ns_ = 7;
};

TEST_F(SecondsTest, AreReadAsNanoseconds) {
  EXPECT_EQ(parse("0.002"), 2'000'000);
  EXPECT_EQ(parse("30"), 30'000'000'000);
  EXPECT_EQ(parse("1e-12"), 1) << "0 would mean no limit";
  EXPECT_EQ(parse("0"), 0);
  EXPECT_EQ(parse("1000000000"), 1'000'000'000'000'000'000);
}

TEST_F(SecondsTest, OutOfRangeAreRefused) {
  EXPECT_THAT(error_of("-1"), HasSubstr("-1 is not between 0 and"));
  EXPECT_THAT(error_of("2e9"), HasSubstr("2e9 is not between 0 and"));
  EXPECT_THAT(error_of("nan"), HasSubstr("not a number"));
  EXPECT_THAT(error_of("x"), HasSubstr("\"x\" is not a number"));
  EXPECT_EQ(wait_ns_, 7);
}

TEST_F(SecondsTest, HelpShowsTheDefaultInSeconds) {
  EXPECT_THAT(app_.help(), HasSubstr("0.5"));
  EXPECT_THAT(app_.help(), HasSubstr("FLOAT:0 to 1"));
}

TEST(Seconds, AbsentValueHasNoDefault) {
  CLI::App app;
  std::optional<std::int64_t> wait_ns;
  Options(app).add("--wait", wait_ns, "Help").takes_seconds();
  EXPECT_FALSE(wait_ns);
  app.parse("--wait 1.5");
  EXPECT_EQ(wait_ns, 1'500'000'000);
}

}  // namespace
}  // namespace sluice::options
