#include "grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "grammar/testing/fits.h"

namespace sluice::grammar {
namespace {

using ::testing::HasSubstr;

bool fits(const std::string& grammar, std::string_view text) {
  return testing::fits({Source::Form::kGbnf, grammar}, text);
}
std::string refusal(const std::string& grammar) {
  return read_source({Source::Form::kGbnf, grammar}).status().message();
}

TEST(Gbnf, ReadsTextsClassesGroupsAndRepetitions) {
  const std::string grammar =
      "# a sum\n"
      "root ::= term ( \" + \" term)*  # and more\n"
      "term ::=\n"
      "  [1-9] digit{0,2} |\n"
      "  \"(\" root \")\"\n"
      "  | \"x\"+ \"y\"?\n"
      "digit ::= [0-9]\n";
  for (const char* text : {"1", "120", "x", "xxy", "1 + x", "((7) + 12)"}) {
    EXPECT_TRUE(fits(grammar, text)) << text;
  }
  for (const char* text : {"", "0", "1234", "y", "1+x", "(1", "1 + "}) {
    EXPECT_FALSE(fits(grammar, text)) << text;
  }
}

TEST(Gbnf, BeginsBehindAByteOrderMark) {
  EXPECT_TRUE(
      fits("\xEF\xBB\xBF"
           "root ::= \"a\"",
           "a"));
}

TEST(Gbnf, ReadsCharactersByTheirBytes) {
  const std::string grammar = R"(root ::= [^a-z\u00e9\U0001F600] . "\x41\t\"\\" [\]\-])";
  EXPECT_TRUE(fits(grammar,
                   "\xE2\x82\xAC\xF0\x9F\x98\x80"
                   "A\t\"\\]"));
  EXPECT_TRUE(fits(grammar, "B\nA\t\"\\-"));
  EXPECT_FALSE(fits(grammar, "\xC3\xA9xA\t\"\\-")) << "a character that the class leaves out";
  EXPECT_FALSE(fits(grammar, "\xF0\x9F\x98\x80xA\t\"\\-"));
  EXPECT_FALSE(fits(grammar, "\xE2\x82xA\t\"\\-")) << "half a character";
  EXPECT_FALSE(fits("root ::= .", "\xED\xA0\x80")) << "a surrogate";
}

TEST(Gbnf, CountsRepetitions) {
  for (const auto& [times, least, most] :
       {std::tuple{"{2}", 2, 2}, {"{2,}", 2, 9}, {"{1,3}", 1, 3}, {"{,2}", 0, 2}, {"{0}", 0, 0}}) {
    const std::string grammar = std::string("root ::= \"<\" \"ab\"") + times + " \">\"";
    std::string text = "<";
    for (int count = 0; count <= 9; ++count, text += "ab") {
      EXPECT_EQ(fits(grammar, text + ">"), count >= least && count <= most) << times << count;
    }
  }
}

TEST(Gbnf, FollowsRulesThatCallThemselves) {
  const std::string grammar = "root ::= \"(\" root \")\" root | \"\"";
  EXPECT_TRUE(fits(grammar, ""));
  EXPECT_TRUE(fits(grammar, "(()())()"));
  EXPECT_FALSE(fits(grammar, "(()"));
  EXPECT_FALSE(fits(grammar, "())"));
  const std::string deep(20000, '(');
  EXPECT_TRUE(fits(grammar, deep + std::string(20000, ')')));
}

TEST(Gbnf, RefusesWhatIsNoGrammar) {
  EXPECT_THAT(refusal(""), HasSubstr("no rule \"root\""));
  EXPECT_THAT(refusal("root ::= other"), HasSubstr("no rule \"other\""));
  EXPECT_THAT(refusal("root ::= \"a\"\nroot ::= \"b\""),
              HasSubstr("line 2: \"root\" is a rule twice"));
  EXPECT_THAT(refusal("root = \"a\""), HasSubstr("expected ::="));
  EXPECT_THAT(refusal("root ::= \"a"), HasSubstr("ends within a text"));
  EXPECT_THAT(refusal("root ::= (\"a\""), HasSubstr("expected )"));
  EXPECT_THAT(refusal("root ::= [z-a]"), HasSubstr("ends before it begins"));
  EXPECT_THAT(refusal("root ::= \"a\"{3,2}"), HasSubstr("never met"));
  EXPECT_THAT(refusal("root ::= \"a\"{99999}"), HasSubstr("at most 10000 times"));
  EXPECT_THAT(refusal("root ::= \"\\ud800\""), HasSubstr("no character"));
  EXPECT_THAT(refusal("root ::= \"\\q\""), HasSubstr("\\q"));
  EXPECT_THAT(refusal("root ::= <[5]>"), HasSubstr("tokens in a grammar"));
  EXPECT_THAT(refusal("root ::= \"\xFF\""), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal("root ::= " + std::string(100, '(')), HasSubstr("groups"));
  EXPECT_THAT(refusal("root ::= \"a\"" + std::string(100, '*')), HasSubstr("repetitions"));
}

TEST(Gbnf, RefusesGrammarsWithoutAnEnd) {
  EXPECT_THAT(refusal("root ::= \"a\" root"), HasSubstr("never comes to an end"));
  EXPECT_THAT(refusal("root ::= [^\\x00-\\U0010FFFF]"), HasSubstr("never comes to an end"));
  EXPECT_THAT(refusal("root ::= a \"x\"\na ::= \"\" b\nb ::= a | \"z\""),
              HasSubstr("begins with itself"));
  EXPECT_THAT(refusal("root ::= \"a\"? root | \"b\""), HasSubstr("begins with itself"));
  EXPECT_THAT(refusal("root ::= (((\"a\"{9999}){9999}){9999})"), HasSubstr("too large"));
  EXPECT_TRUE(fits("root ::= ((\"\" \"\"){9999}){9999} \"a\"", "a"))
      << "nothing, often, is nothing";
}

TEST(Gbnf, BoundsEdgesAsNodes) {
  std::string classes = "[";
  for (char c = '0'; c < 'z'; c += 2) {
    if (c == '\\' || c == '^') continue;
    classes += c;
  }
  classes += "]";
  EXPECT_THAT(refusal("root ::= " + classes + "{10000}{20}"), HasSubstr("edges"));
  std::string nothing = "root ::= (\"\"";
  for (int i = 0; i < 1000; ++i) nothing += " | \"\"";
  EXPECT_THAT(refusal(nothing + "){10000}"), HasSubstr("edges"));
  const auto large = read_source({Source::Form::kGbnf, "root ::= " + classes + "{10000}"});
  ASSERT_TRUE(large.is_ok()) << large.status().message();
  EXPECT_LE(large->num_edges(), Automaton::kMaxEdges);
}

TEST(Gbnf, TakesChoicesOfTextsThatBeginAlike) {
  const std::string grammar =
      "root ::= (\"ab\" | \"abc\" | [a] \"x\" | \"ab\" | \"\" | \"b\")* \".\"";
  for (const char* text : {".", "ab.", "abcab.", "axb.", "abab.", "bb."}) {
    EXPECT_TRUE(fits(grammar, text)) << text;
  }
  for (const char* text : {"a.", "abcc.", "x.", "ac.", "ab"})
    EXPECT_FALSE(fits(grammar, text)) << text;
  std::string equal = "root ::= (\"" + std::string(200, 'a') + "\"";
  for (int i = 0; i < 1000; ++i) equal += " | \"" + std::string(200, 'a') + "\"";
  EXPECT_THAT(refusal(equal + "){1000}"), HasSubstr("too large")) << "work that makes no nodes";
}

TEST(Gbnf, BoundsTheAmbiguityOfATextNotItsLength) {
  const std::string grammar = "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\"";
  EXPECT_TRUE(fits(grammar, "aaabc"));
  const auto longer = testing::state_after({Source::Form::kGbnf, grammar}, std::string(64, 'a'));
  EXPECT_EQ(longer.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(longer.status().message(), HasSubstr("ambiguous"));
}

}  // namespace
}  // namespace sluice::grammar
