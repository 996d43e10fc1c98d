// Results of string operators, and refused strings.
#include <gtest/gtest.h>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Longs = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

TestTensor texts(std::initializer_list<const char*> values) {
  return {{static_cast<std::int64_t>(values.size())}, values};
}
TestTensor longs(const Longs& values) {
  return {{static_cast<std::int64_t>(values.size())}, values};
}

TEST(Strings, CopyOperatorsMoveStrings) {
  TestTensor y = texts({"", ""});
  EXPECT_EQ(TestOp("Gather").run({texts({"a", "b", "c"}), longs({2, 0})}, y), "");
  EXPECT_EQ(y.texts(), (Texts{"c", "a"}));
}

TEST(Strings, AreEqualByTheirBytes) {
  TestTensor y({2}, std::vector<Bool>(2));
  EXPECT_EQ(TestOp("Equal").run({texts({"a", "b"}), texts({"a", "B"})}, y), "");
  EXPECT_TRUE(y.values<Bool>()[0]);
  EXPECT_FALSE(y.values<Bool>()[1]);
}

TEST(Unique, SortsStrings) {
  TestTensor y = texts({"", "", ""});
  TestOp op("Unique");
  EXPECT_EQ(op.run({texts({"b", "a", "b"})}, y), "");
  EXPECT_EQ(op.actual_dims, Longs{2});
  EXPECT_EQ(y.texts()[0], "a");
  EXPECT_EQ(y.texts()[1], "b");
}

TEST(CastToString, WritesShortestDecimalThatRoundTrips) {
  TestTensor y = texts({"", "", "", ""});
  const TestTensor x({4}, std::vector<float>{0.1F, -1e10F, std::nanf(""), -INFINITY});
  EXPECT_EQ(TestOp("Cast").run({x}, y), "");
  EXPECT_EQ(y.texts(), (Texts{"0.1", "-1e+10", "NaN", "-INF"}));
}

TEST(CastFromString, ReadsSpecialValuesInAnyCaseAndRefusesWords) {
  TestTensor y({4}, std::vector<float>(4));
  EXPECT_EQ(TestOp("Cast").run({texts({"1e-1", "+inf", "nan", "-INF"})}, y), "");
  EXPECT_EQ(y.values<float>()[0], 0.1F);
  EXPECT_EQ(y.values<float>()[1], INFINITY);
  EXPECT_TRUE(std::isnan(y.values<float>()[2]));
  EXPECT_EQ(y.values<float>()[3], -INFINITY);
  TestTensor one({1}, std::vector<float>(1));
  EXPECT_EQ(TestOp("Cast").run({texts({"1x"})}, one), "Cast: \"1x\" is no number");
  EXPECT_NE(TestOp("Cast").run({texts({""})}, one), "");
}

TEST(CastFromString, KeepsEveryDigitOfAnInteger) {
  TestTensor y({2}, Longs(2));
  EXPECT_EQ(TestOp("Cast").run({texts({"9223372036854775807", "2.5"})}, y), "");
  EXPECT_EQ(y.values<std::int64_t>(), (Longs{INT64_MAX, 2}));
}

TEST(StringConcat, StretchesEitherSide) {
  TestTensor z = texts({"", ""});
  EXPECT_EQ(TestOp("StringConcat").run({texts({"a", "b"}), texts({"!"})}, z), "");
  EXPECT_EQ(z.texts(), (Texts{"a!", "b!"}));
}

TEST(StringSplit, CutsAtRunsOfWhiteSpaceAndPads) {
  TestTensor y({2, 2}, {"", "", "", ""});
  const TestTensor x = texts({" a\t b ", "c"});
  TestTensor width({}, Longs(1));
  EXPECT_EQ(TestOp("StringSplitWidth", "sluice").run({x}, width), "");
  EXPECT_EQ(width.values<std::int64_t>(), Longs{2});
  EXPECT_EQ(TestOp("StringSplitTexts", "sluice").run({x, width}, y), "");
  EXPECT_EQ(y.texts(), (Texts{"a", "b", "c", ""}));
}

TEST(StringSplit, KeepsTextAfterTheLastSplit) {
  TestTensor y({1, 2}, {"", ""});
  const TestTensor width({}, Longs{2});
  const auto run = [&](const char* delimiter, const char* text) {
    return TestOp("StringSplitTexts", "sluice")
        .with("maxsplit", 1)
        .with("delimiter", delimiter)
        .run({texts({text}), width}, y);
  };
  EXPECT_EQ(run("--", "a--b--c"), "");
  EXPECT_EQ(y.texts(), (Texts{"a", "b--c"}));
  EXPECT_EQ(run("", "a  b c "), "");
  EXPECT_EQ(y.texts(), (Texts{"a", "b c "}));
}

TEST(StringSplit, RefusesAWidthThatIsTooSmall) {
  TestTensor y({1, 1}, {""});
  const TestTensor width({}, Longs{1});
  EXPECT_NE(TestOp("StringSplitTexts", "sluice").run({texts({"a b"}), width}, y), "");
}

TEST(RegexFullMatch, MatchesTheWholeStringAndRefusesBadPatterns) {
  TestTensor y({2}, std::vector<Bool>(2));
  EXPECT_EQ(TestOp("RegexFullMatch").with("pattern", "a+").run({texts({"aa", "ab"})}, y), "");
  EXPECT_TRUE(y.values<Bool>()[0]);
  EXPECT_FALSE(y.values<Bool>()[1]);
  const std::string error = TestOp("RegexFullMatch").with("pattern", "(a").run({texts({"a"})}, y);
  EXPECT_NE(error.find("no RE2 expression"), std::string::npos) << error;
}

TEST(StringNormalizer, DropsStopWordsWhateverTheirCase) {
  TestTensor y = texts({"", "", ""});
  TestOp op("StringNormalizer");
  op.with("case_change_action", "UPPER").with_texts("stopwords", {"Monday"});
  EXPECT_EQ(op.run({texts({"monday", "tuesday", "\u00e9"})}, y), "");
  EXPECT_EQ(op.actual_dims, Longs{2});
  EXPECT_EQ(y.texts()[0], "TUESDAY");
  EXPECT_EQ(y.texts()[1], "\u00c9");
}

TEST(StringNormalizer, LeavesOneEmptyStringOfNothing) {
  TestTensor y({1, 1}, {"x"});
  TestOp op("StringNormalizer");
  op.with_texts("stopwords", {"a"});
  EXPECT_EQ(op.run({TestTensor({1, 1}, {"a"})}, y), "");
  EXPECT_EQ(op.actual_dims, (Longs{1, 1}));
  EXPECT_EQ(y.texts(), Texts{""});
}

TEST(StringNormalizer, RefusesInvalidUtf8) {
  TestTensor y = texts({""});
  const auto run = [&](const char* text) {
    return TestOp("StringNormalizer").with("case_change_action", "LOWER").run({texts({text})}, y);
  };
  for (const char* text : {"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xc0\x80"}) {
    EXPECT_NE(run(text), "") << text;
  }
}

TestOp bigrams() {
  TestOp op("TfIdfVectorizer");
  op.with("mode", "TF").with("min_gram_length", 2).with("max_gram_length", 2);
  op.with("max_skip_count", 1)
      .with("ngram_counts", Longs{0, 1})
      .with("ngram_indexes", Longs{0, 1, 2});
  return op;
}

TEST(TfIdfVectorizer, CountsPairsAndSkipGrams) {
  TestTensor y({3}, std::vector<float>(3));
  TestOp op = bigrams();
  op.with_texts("pool_strings", {"a", "a", "b", "a", "c"});  // a; a b; a c
  EXPECT_EQ(op.run({texts({"a", "b", "c", "a", "c"})}, y), "");
  EXPECT_EQ(y.values<float>(), (std::vector<float>{0, 1, 2}));
}

TEST(TfIdfVectorizer, RefusesAPoolThatIsNotCutIntoGrams) {
  TestTensor y({3}, std::vector<float>(3));
  TestOp op = bigrams();
  op.with("pool_int64s", Longs{1, 1, 2, 1});
  EXPECT_NE(op.run({longs({1, 2})}, y), "");
  TestOp negative("TfIdfVectorizer");
  negative.with("mode", "TF").with("ngram_counts", Longs{-1}).with("ngram_indexes", Longs{0});
  negative.with("pool_int64s", Longs{1});
  EXPECT_NE(negative.run({longs({1, 2})}, y), "");
}

}  // namespace
}  // namespace sluice::reference
