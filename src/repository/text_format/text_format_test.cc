#include "repository/text_format/text_format.h"

#include <gmock/gmock.h>

namespace sluice::repository {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text) { return parse_text_format(text).status().message(); }

TEST(TextFormat, ReadsScalarsMessagesAndLists) {
  const auto fields = parse_text_format(
      "name: \"a\" # the first\n"
      "size: -7; on: true\n"
      "part { kind: KIND_CPU, } dims: [ 1, -1 ]\n"
      "input [ { name: 'x' }, < name: 'y' 'z' > ]\n"
      "none: []");
  ASSERT_TRUE(fields.is_ok()) << fields.status().to_string();
  ASSERT_EQ(fields->size(), 8U);
  EXPECT_EQ((*fields)[0].value, "a");
  EXPECT_TRUE((*fields)[0].is_text);
  EXPECT_EQ((*fields)[1].value, "-7");
  EXPECT_EQ((*fields)[2].value, "true");
  EXPECT_EQ((*fields)[3].fields.at(0).value, "KIND_CPU");
  EXPECT_EQ((*fields)[3].line, 3);
  EXPECT_EQ((*fields)[5].value, "-1");
  EXPECT_EQ((*fields)[7].name, "input");
  EXPECT_EQ((*fields)[7].fields.at(0).value, "yz");
  EXPECT_EQ((*fields)[7].line, 4);
}

TEST(TextFormat, UndoesEscapes) {
  const auto fields = parse_text_format(R"(a: "\x41\102\n\\\"")");
  ASSERT_TRUE(fields.is_ok()) << fields.status().to_string();
  EXPECT_EQ(fields->at(0).value, "AB\n\\\"");
}

TEST(TextFormat, ErrorsNameTheLine) {
  EXPECT_THAT(error_of("a: 1\nb {\n c: 2\n"), HasSubstr("line 4: the text ends, and '}'"));
  EXPECT_THAT(error_of("a: 1\n: 2"), HasSubstr("line 2: a field's name is missing before ':'"));
  EXPECT_THAT(error_of("a: \"x\n\""), HasSubstr("line 1: a text does not end"));
  EXPECT_THAT(error_of("a: \"\\q\""), HasSubstr("unknown escape"));
  EXPECT_THAT(error_of("a: \"\\777\""), HasSubstr("no byte"));
  EXPECT_THAT(error_of("a: ["), HasSubstr("\"a\" has no value"));
  EXPECT_THAT(error_of("a: -"), HasSubstr("no value"));
  EXPECT_THAT(error_of("a"), HasSubstr("neither"));
  EXPECT_THAT(error_of("[a.b]: 1"), HasSubstr("name is missing"));
  EXPECT_THAT(error_of("}"), HasSubstr("name is missing"));
}

TEST(TextFormat, ReadsJson) {
  const auto fields = parse_text_format(R"({
    "name": "a", "size": "-7", "none": null, "empty": [],
    "input": [{"dims": [1, -1]}],
    "parameters": {"k": {"string_value": "v"}, "l": {}}
  } )");
  ASSERT_TRUE(fields.is_ok()) << fields.status().to_string();
  ASSERT_EQ(fields->size(), 5U);
  EXPECT_EQ((*fields)[0].value, "a");
  EXPECT_TRUE((*fields)[0].is_text);
  EXPECT_EQ((*fields)[1].value, "-7");
  EXPECT_TRUE((*fields)[1].is_json);
  EXPECT_EQ((*fields)[2].fields.at(1).value, "-1");
  EXPECT_EQ((*fields)[3].name, "parameters");
  EXPECT_EQ((*fields)[3].line, 4);
  EXPECT_EQ((*fields)[3].fields.at(0).name, "key");
  EXPECT_EQ((*fields)[3].fields.at(0).value, "k");
  EXPECT_EQ((*fields)[3].fields.at(1).name, "value");
  EXPECT_EQ((*fields)[3].fields.at(1).fields.at(0).value, "v");
  EXPECT_EQ((*fields)[4].fields.at(0).value, "l");
}

TEST(TextFormat, ErrorsOfJsonNameTheLine) {
  EXPECT_THAT(error_of("{\n\"a\": 1"), HasSubstr("line 2: the text ends, and '}'"));
  EXPECT_THAT(error_of("{}\n{}"), HasSubstr("line 2: text follows the last '}'"));
  EXPECT_THAT(error_of("{\"a\" 1}"), HasSubstr("\"a\" has neither"));
  EXPECT_THAT(error_of("{3: 1}"), HasSubstr("name is missing before '3'"));
  EXPECT_THAT(error_of("\"a\": 1"), HasSubstr("name is missing before '\"'"));
  EXPECT_THAT(error_of("{\"a\": [[1]]}"), HasSubstr("no value"));
}

TEST(TextFormat, BeginsBehindAByteOrderMark) {
  EXPECT_EQ(error_of("\xEF\xBB\xBF"
                     "name: \"a\""),
            "");
  EXPECT_NE(error_of("\xEF\xBB"
                     "name: \"a\""),
            "");
  EXPECT_NE(error_of("name: \xEF\xBB\xBF"
                     "\"a\""),
            "");
}

TEST(TextFormat, RefusesDeepAndEndlessTexts) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "a{";
  EXPECT_THAT(error_of(deep), HasSubstr("deeper than 32"));
  std::string lists = "a:";
  for (int i = 0; i < 100'000; ++i) lists += "[";
  EXPECT_THAT(error_of(lists), HasSubstr("no value"));
  std::string many;
  for (int i = 0; i < 70'000; ++i) many += "a:1 ";
  EXPECT_THAT(error_of(many), HasSubstr("more than 65536 fields"));
  const std::string name(257, 'a');
  EXPECT_THAT(error_of("b: 1\n" + name + ": [ 1, 2 ]"),
              HasSubstr("line 2: a field's name has more"));
  EXPECT_EQ(error_of(name.substr(1) + ": 1"), "");
}

}  // namespace
}  // namespace sluice::repository
