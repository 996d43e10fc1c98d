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

TEST(Regex, ReadsNamedSetsAsOnigurumaDoes) {
  EXPECT_THAT(matches("[[:punct:]]+", "a+\u00a9b\u3002"), ElementsAre("+\u00a9", "\u3002"));
  EXPECT_THAT(matches(R"(\p{Punct}+)", "a+b\u3002"), ElementsAre("\u3002"));
  EXPECT_THAT(matches("[[:alpha:]]+", "a\u0345\u00bd"), ElementsAre("a\u0345"));
  EXPECT_THAT(matches("[^[:alnum:]]", "a1\u0345\u00bd"), ElementsAre("\u00bd"));
  EXPECT_THAT(matches("[[:word:]]+", "a\u0301_\u00b2"), ElementsAre("a\u0301_"));
  EXPECT_THAT(matches("[[:space:][:blank:]]", "\u180e\u2028\u00a0"),
              ElementsAre("\u2028", "\u00a0"));
  EXPECT_THAT(matches("[[:upper:]]", "\u2160\u2170"), ElementsAre("\u2160"));
  EXPECT_THAT(matches("[[:lower:]]", "\u2160\u2170"), ElementsAre("\u2170"));
  EXPECT_THAT(matches("[[:graph:]]", " \u2066"), ElementsAre("\u2066"));
  EXPECT_THAT(matches("[[:^alpha:]]", "a\u0345."), ElementsAre("."));
  EXPECT_THAT(matches(R"([\S])", "a\u180e\u2028"), ElementsAre("a", "\u180e"));
}

TEST(Regex, ReadsNamesOfScriptsAsOnigurumaDoes) {
  EXPECT_THAT(matches(R"(\p{Han}+)", "\u6f22\u3002\u5b57"), ElementsAre("\u6f22", "\u5b57"));
  EXPECT_THAT(matches(R"([^\p{Hiragana}\p{^Any}]+)", "\u3042\u3001"), ElementsAre("\u3001"));
  EXPECT_THAT(matches(R"(\P{Latin}|\p{^greek})", "a\u0342"), ElementsAre("a", "\u0342"));
}

TEST(Regex, FindsWordsAndTheirEndsAsOnigurumaDoes) {
  EXPECT_THAT(matches(R"(\w+)", "x\u00b2y \u00bd"), ElementsAre("x\u00b2y", "\u00bd"));
  EXPECT_THAT(matches(R"([\w]+)", "x\u00b2y \u00bd"), ElementsAre("x", "y"));
  EXPECT_THAT(matches(R"(\b.)", "a\u0301b\u00b2 c"), ElementsAre("a", " ", "c"));
  EXPECT_THAT(matches(R"(\B.)", "a\u0301b c"), ElementsAre("\u0301", "b"));
  EXPECT_THAT(matches(R"([\b])", "a\b"), ElementsAre("\b"));
}

TEST(Regex, ReadsOptionsAndRepetitionsAsOnigurumaDoes) {
  EXPECT_THAT(matches("(?m)a.b", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(matches("(?m:a.)b|c.", "a\nbc\n"), ElementsAre("a\nb"));
  EXPECT_THAT(matches("a(?i)b|c", "aB ac c"), ElementsAre("aB", "ac"));
  EXPECT_THAT(matches("((?i)a|b)c(?i-m:D)", "BcD bC"), ElementsAre("BcD"));
  EXPECT_THAT(matches("(?x) a # ( not a group\n b (?-x)# (?#:)", "ab# "), ElementsAre("ab# "));
  EXPECT_THAT(matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(matches("a{,}", "a{,}"), ElementsAre("a{,}"));
  EXPECT_THAT(matches(R"(\v|\V|\pL|\Q|\E)", "\n\vVLpLQE"), ElementsAre("\v", "V", "pL", "Q", "E"));
}

TEST(Regex, RefusesWhatPcre2ReadsDifferently) {
  for (const char* expression : {"a{2}?", "(?s)a", "(*UCP)a", "[[:^punct:]]", R"([\P{Graph}])"}) {
    EXPECT_EQ(Regex::compile(expression).status().code(), Code::kUnimplemented) << expression;
  }
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
