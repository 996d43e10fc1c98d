#include "text/unicode/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/unicode/oniguruma.h"

namespace sluice::text {
namespace {

std::vector<std::string> matches(std::string_view expression, std::string_view text) {
  const auto regex = Regex::compile(expression);
  EXPECT_TRUE(regex.is_ok()) << regex.status().to_string();
  std::vector<std::string> found;
  RegexBudget budget(text.size());
  const Status status = regex->for_each_match(text, budget, [&](Match match) {
    found.emplace_back(text.substr(match.begin, match.end - match.begin));
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return found;
}

using ::testing::ElementsAre;

TEST(Regex, FindsWordsAndLooksAhead) {
  EXPECT_THAT(matches(R"(\p{L}+|\s+(?!\S)|\s)", "ab  cd é "),
              ElementsAre("ab", " ", " ", "cd", " ", "é", " "));
  EXPECT_THAT(matches(R"((?i:'s|'ll)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3})", "It'S 1234"),
              ElementsAre("It", "'S", "123", "4"));
}

TEST(Regex, FindsEmptyMatchesOnce) {
  EXPECT_THAT(matches("x*", "axxb"), ElementsAre("", "xx", ""));
  EXPECT_THAT(matches("", "é"), ElementsAre("", ""));
}

TEST(Regex, ReadsSetsAsOnigurumaDoes) {
  EXPECT_THAT(matches(R"(\s)", "a\xE1\xA0\x8E\xC2\x85"), ElementsAre("\xC2\x85"));  // not U+180E
  EXPECT_THAT(matches(R"([^\s\w]+)", "a\xCC\x81 ,."), ElementsAre(",."));
  EXPECT_THAT(matches("^b$", "a\nb\nc"), ElementsAre("b"));
}

TEST(Regex, RefusesWhatPcre2ReadsDifferently) {
  EXPECT_EQ(Regex::compile("[a[bc]]").status().code(), Code::kUnimplemented);
  EXPECT_EQ(Regex::compile("[a-z&&[^b]]").status().code(), Code::kUnimplemented);
  EXPECT_EQ(Regex::compile("a{1,2}+").status().code(), Code::kUnimplemented);
  EXPECT_EQ(Regex::compile("(").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Regex::compile("\\").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Regex::compile("\\p{").status().code(), Code::kInvalidArgument);
}

TEST(Regex, TakesLongRunsWithoutAnError) {
  const std::string spaces(1 << 20, ' ');
  EXPECT_THAT(matches(R"(\s+(?!\S)|\s+)", spaces), ElementsAre(spaces));
}

TEST(Regex, EndsWhenTheBudgetIsUsedUp) {
  const auto regex = Regex::compile("(a|aa)+$");
  ASSERT_TRUE(regex.is_ok());
  const std::string text = std::string(5000, 'a') + "b";
  RegexBudget budget(text.size());
  const Status status = regex->for_each_match(text, budget, [](Match) {});
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

TEST(Oniguruma, EscapesAllThatIsNotText) {
  const std::string_view text = "a.b*(c)[d]{e}\\^$|?+#-&~";
  EXPECT_THAT(matches(escape_expression(text), text), ElementsAre(std::string(text)));
}

}  // namespace
}  // namespace sluice::text
