#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/rules/expression.h"
#include "grammar/schema/merge.h"
#include "grammar/schema/read_schema.h"
#include "grammar/testing/fits.h"
#include "text/unicode/characters.h"

namespace sluice::grammar {
namespace {

using ::testing::HasSubstr;

void expect_fits(const std::string& schema, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    EXPECT_TRUE(testing::fits({Source::Form::kSchema, schema}, text)) << schema << " " << text;
  }
}
void expect_no_fit(const std::string& schema, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    EXPECT_FALSE(testing::fits({Source::Form::kSchema, schema}, text)) << schema << " " << text;
  }
}
Status refused(const std::string& schema) {
  return read_source({Source::Form::kSchema, schema}).status();
}

TEST(Schema, TakesAnyJsonWithoutWords) {
  const std::vector<std::string> texts = {"null",
                                          "-12.5e-3",
                                          "0",
                                          "[]",
                                          "[1, [true], {}]",
                                          R"({"a":"b", "":[ "\u00e9\ud83d\ude00\n" ]})",
                                          "\"\xC3\xA9\xF0\x9F\x98\x80\"",
                                          "{\n  \"a\": 1\n}"};
  for (const char* schema : {"{}", "true", R"({"title": "T", "$defs": {"a": false}})"}) {
    expect_fits(schema, texts);
    expect_no_fit(schema, {"", "01", "[1,]", "{a:1}", "\"\\q\"", "\"\\ud800\"", "\"\n\"", "nul",
                           "1.", "+1", "[1 , 2]"});
  }
}

TEST(Schema, OrdersPropertiesAndLeavesOutThoseThatMayBe) {
  const std::string schema =
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"},
          "c": {"type": "boolean"}}, "required": ["b"]})";
  expect_fits(schema, {R"({"a":1,"b":null,"c":true})", R"({"b":null})",
                       R"({"b": null, "c": false})", R"({ "a": -3, "b": null })"});
  expect_no_fit(schema, {"{}", R"({"a":1})", R"({"b":null,"a":1})", R"({"b":null,"d":1})",
                         R"({"b":null,})", R"({,"b":null})", R"({"a":1.5,"b":null})"});
  expect_fits(R"({"properties": {"a": {}, "b": {}}})", {"{}", R"({"a":1})", R"({"b":1})"});
}

TEST(Schema, ReadsOtherPropertiesByTheirSchema) {
  const std::string schema = R"({"properties": {"ab": {"type": "integer"}},
                                 "additionalProperties": {"type": "string"}})";
  expect_fits(schema,
              {"{}", R"({"ab":1})", R"({"ab":1,"a":"x","abc":"y","":"z"})", R"({"b":"x"})"});
  expect_no_fit(schema,
                {R"({"ab":"x"})", R"({"a":1})", R"({"ab":1,"ab":"x"})", R"({"\u0061b":"x"})"});
  expect_no_fit(R"({"properties": {"a": {}}, "additionalProperties": false})", {R"({"b":1})"});
  expect_fits(R"({"required": ["x"]})", {R"({"x":[1]})", R"({"x":1,"y":2})"});
  expect_no_fit(R"({"required": ["x"]})", {"{}", R"({"y":2})"});
}

TEST(Schema, CountsItemsAndKnowsTheFirst) {
  const std::string counted = R"({"items": {"type": "integer"}, "minItems": 1, "maxItems": 3})";
  expect_fits(counted, {"[1]", "[1,2]", "[ 1, 2, 3 ]"});
  expect_no_fit(counted, {"[]", "[1,2,3,4]", "[\"a\"]"});
  const std::string tuple =
      R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"},
          "minItems": 1})";
  expect_fits(tuple, {"[1]", "[1,\"a\"]", "[1,\"a\",null,null]"});
  expect_no_fit(tuple, {"[]", "[\"a\"]", "[1,null]", "[1,\"a\",2]"});
  const std::string pair =
      R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}],
                               "minItems": 2, "maxItems": 2})";
  expect_fits(pair, {"[1,2]"});
  expect_no_fit(pair, {"[1]", "[1,2,3]"});
  expect_fits(R"({"type": "array", "maxItems": 0})", {"[]"});
  expect_no_fit(R"({"type": "array", "maxItems": 0})", {"[1]"});
  expect_fits(R"({"type": "array", "minItems": 2})", {"[1,\"a\"]"});
  expect_no_fit(R"({"type": "array", "minItems": 2})", {"[1]"});
}

TEST(Schema, CountsTheCharactersOfStrings) {
  const std::string schema = R"({"minLength": 2, "maxLength": 3})";
  expect_fits(schema, {"\"ab\"", "\"\xC3\xA9\xE2\x82\xAC\"", R"("\n\u00e9\ud83d\ude00")"});
  expect_no_fit(schema, {"\"a\"", "\"abcd\"", R"("\n")", "12"});
}

TEST(Schema, FindsPatternsInStrings) {
  expect_fits(R"({"pattern": "^a+(b|c){2}\\d?$"})", {"\"abc\"", "\"aacc7\""});
  expect_no_fit(R"({"pattern": "^a+(b|c){2}\\d?$"})", {"\"ab\"", "\"xabc\"", "\"abcd\""});
  expect_fits(R"({"pattern": "b"})", {"\"b\"", "\"abc\"", R"("\u00e9b\n")"});
  expect_no_fit(R"({"pattern": "b"})", {"\"\"", "\"ac\""});
  expect_fits(R"({"pattern": "^x|y$"})", {"\"x1\"", "\"1y\""});
  expect_no_fit(R"({"pattern": "^x|y$"})", {"\"1x\"", "\"y1\""});
  // What a string writes with escapes: a quote, a backslash, a line end.
  expect_fits(R"({"pattern": "^[\"\\\\\\n-]{4}$"})", {R"("\"\\\n-")"});
  expect_fits(R"({"pattern": "^[^a-y]$"})", {"\"z\"", R"("\"")", "\"\xE2\x82\xAC\""});
  expect_no_fit(R"({"pattern": "^[^a-y]$"})", {"\"b\"", "\"\"\"", "\"\\\""});
  // Where ECMA and Python differ, neither.
  expect_fits(R"({"pattern": "^\\s\\S\\D\\W$"})", {"\" \xE4\xB8\xAD"
                                                   "a-\""});
  expect_no_fit(R"({"pattern": "^\\s$"})", {"\"\xEF\xBB\xBF\"", R"("\u001c")"});
  expect_no_fit(R"({"pattern": "^\\S$"})", {"\"\xEF\xBB\xBF\"", "\" \"", R"("\u001c")"});
  expect_no_fit(R"({"pattern": "^.$"})", {R"("\n")"});
  expect_fits(R"({"format": "date-time"})",
              {"\"2026-11-28T20:15:00Z\"", "\"2024-02-28T00:00:00.5+01:00\""});
  expect_no_fit(R"({"format": "date-time"})", {"\"2026-13-28T20:15:00Z\"", "\"2026-11-28\""});
  expect_fits(R"({"format": "ipv4"})", {"\"255.0.19.249\""});
  expect_no_fit(R"({"format": "ipv4"})", {"\"256.0.0.1\"", "\"1.2.3\""});
  for (const char* pattern : {"(?=a)", "(?<!a)b", "\\\\ba", "(a)\\\\1", "\\\\p{L}", "(^a)"}) {
    const Status status = refused(std::string(R"({"pattern": ")") + pattern + "\"}");
    EXPECT_EQ(status.code(), Code::kUnimplemented) << pattern << status.message();
  }
  EXPECT_EQ(refused(R"({"pattern": "(a"})").code(), Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"pattern": "*"})").code(), Code::kInvalidArgument);
}

TEST(Schema, WritesConstantsAsTheyAre) {
  expect_fits(R"({"enum": ["a", 1, null, {"x": [1, 2]}]})",
              {"\"a\"", "1", "null", R"({"x":[1,2]})"});
  expect_no_fit(R"({"enum": ["a", 1]})", {"\"b\"", "2", "\"\""});
  expect_fits(R"({"const": "\u00e9\"\n"})", {"\"\xC3\xA9\\\"\\n\""});
  expect_no_fit(R"({"type": "string", "enum": ["a", 1]})", {"1"});
  EXPECT_THAT(refused(R"({"type": "null", "enum": ["a"]})").message(), HasSubstr("no value"));
}

TEST(Schema, JoinsAlternativesAndWhatStandsBesideThem) {
  const std::string schema =
      R"({"anyOf": [{"type": "integer"}, {"type": "string"}], "title": "T"})";
  expect_fits(schema, {"1", "\"a\""});
  expect_no_fit(schema, {"null", "1.5"});
  const std::string beside =
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
          "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})";
  expect_fits(beside, {R"({"a":1})", R"({"b":1})"});
  expect_no_fit(beside, {"{}", R"({"c":1})"});
  expect_fits(R"({"type": ["integer", "null"]})", {"1", "null"});
  expect_fits(R"({"type": "string", "nullable": true})", {"\"a\"", "null"});
  const std::string all =
      R"({"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"b": {"maximum": 5}}}],
      "properties": {"a": {"minimum": 2}}, "required": ["b"],
      "$defs": {"p": {"type": "object", "properties": {"a": {"type": "integer", "maximum": 3},
                                                       "b": {"type": "integer"}}}}})";
  expect_fits(all, {R"({"a":3,"b":5})", R"({"b":-9})"});
  expect_no_fit(all, {R"({"a":1,"b":5})", R"({"a":4,"b":5})", R"({"a":3,"b":6})", R"({"a":3})"});
}

TEST(Schema, FollowsReferencesThatComeBack) {
  const std::string tree =
      R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties":
          {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
          "required": ["v"]}}})";
  expect_fits(tree, {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":null}})"});
  expect_no_fit(tree, {R"({"v":1,"next":{}})", "null"});
  expect_fits(R"({"items": {"$ref": "#"}})", {"[]", "[[],[[]]]"});
  EXPECT_THAT(refused(R"({"$ref": "#/$defs/x"})").message(), HasSubstr("no such place"));
  EXPECT_THAT(refused(R"({"$ref": "http://x/y"})").message(), HasSubstr("only references within"));
  EXPECT_THAT(refused(R"({"$ref": "#"})").message(), HasSubstr("no text fits"));
  EXPECT_THAT(refused(R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})").message(),
              HasSubstr("begins with itself"));
  EXPECT_THAT(refused(R"({"allOf": [{"$ref": "#"}]})").message(), HasSubstr("too large"));
}

/// All whole numbers and tenths of an interval, beside a plain comparison.
TEST(Schema, BoundsNumbers) {
  struct Case {
    const char* words;
    double least;
    double most;
    bool is_least_excluded;
    bool is_most_excluded;
  };
  const Case cases[] = {{R"("minimum": 0, "maximum": 100)", 0, 100, false, false},
                        {R"("minimum": 7)", 7, 1e9, false, false},
                        {R"("maximum": -12)", -1e9, -12, false, false},
                        {R"("minimum": -15, "maximum": 120)", -15, 120, false, false},
                        {R"("exclusiveMinimum": 0, "exclusiveMaximum": 1)", 0, 1, true, true},
                        {R"("minimum": 99, "maximum": 101)", 99, 101, false, false},
                        {R"("minimum": 0.5, "maximum": 0.7)", 0.5, 0.7, false, false},
                        {R"("exclusiveMinimum": -1.5, "maximum": 10.2)", -1.5, 10.2, true, false},
                        {R"("minimum": 3, "exclusiveMaximum": 3.1)", 3, 3.1, false, true},
                        {R"("minimum": 0, "exclusiveMinimum": 2)", 2, 1e9, true, false}};
  for (const Case& one : cases) {
    for (const bool is_whole : {true, false}) {
      const std::string schema = std::string(R"({"type": ")") + (is_whole ? "integer" : "number") +
                                 "\", " + one.words + "}";
      const auto automaton = read_source({Source::Form::kSchema, schema});
      for (int tenths = -2000; tenths <= 2000; ++tenths) {
        const double value = tenths / 10.0;
        const bool is_in = (one.is_least_excluded ? value > one.least : value >= one.least) &&
                           (one.is_most_excluded ? value < one.most : value <= one.most);
        if (!automaton.is_ok()) {
          EXPECT_FALSE(is_in && tenths % 10 == 0) << schema;
          continue;
        }
        States states(*automaton);
        const std::string text =
            tenths % 10 == 0 ? std::to_string(tenths / 10) : fmt::format("{:.1f}", value);
        StateId state = states.at(automaton->root(), States::kBottom).value();
        for (const char byte : text) state = states.next(state, static_cast<std::uint8_t>(byte));
        EXPECT_EQ(states.may_end(state), is_in && (!is_whole || tenths % 10 == 0))
            << schema << text;
      }
    }
  }
  expect_fits(R"({"type": "number", "minimum": 0.5})", {"0.50", "0.5", "12.25", "0.51"});
  expect_no_fit(R"({"type": "number", "minimum": 0.5})", {"0.49", "0", "-1", "0.", "00.5", "1e3"});
  expect_no_fit(R"({"type": "number", "exclusiveMinimum": 0.5})", {"0.50", "0.500"});
  expect_no_fit(R"({"type": "number", "maximum": 0.5})", {"0.5001"});
  EXPECT_THAT(refused(R"({"minimum": 3, "maximum": 2})").message(), HasSubstr("no number fits"));
  EXPECT_EQ(refused(R"({"minimum": 1e300})").code(), Code::kUnimplemented);
  expect_fits(R"({"type": "integer", "maximum": 1e300, "minimum": -1e300})", {"0", "-7", "123456"});
  expect_fits(R"({"type": "number", "multipleOf": 1, "minimum": 2})", {"2", "30"});
  expect_no_fit(R"({"type": "number", "multipleOf": 1, "minimum": 2})", {"2.5", "1"});
}

TEST(Schema, RefusesWordsByNameAndPlace) {
  for (const char* word :
       {"not", "if", "contains", "unevaluatedProperties", "dependentRequired", "$dynamicRef"}) {
    const Status status =
        refused(std::string(R"({"properties": {"a": {"items": {")") + word + "\": {}}}}}");
    EXPECT_EQ(status.code(), Code::kUnimplemented);
    EXPECT_THAT(status.message(),
                HasSubstr(std::string("#/properties/a/items: the word \"") + word));
  }
  EXPECT_THAT(refused(R"({"uniqueItems": true})").message(), HasSubstr("uniqueItems"));
  EXPECT_THAT(refused(R"({"multipleOf": 0.1})").message(), HasSubstr("multipleOf"));
  EXPECT_THAT(refused(R"({"type": "text"})").message(), HasSubstr("\"text\" is no type"));
  EXPECT_THAT(refused(R"({"properties": {"a": false}, "required": ["a"]})").message(),
              HasSubstr("no text fits"));
  EXPECT_THAT(refused("[1]").message(), HasSubstr("a schema is"));
  EXPECT_THAT(refused("{").message(), HasSubstr("schema"));
  EXPECT_THAT(refused(R"({"maxItems": 2, "minItems": 3})").message(), HasSubstr("nothing fits"));
}

TEST(Schema, WordsThatSayNothingOfValuesRestrictNothing) {
  const std::string schema =
      R"({"type": "object", "x-order": 1, "writeOnly": true, "contentSchema": {},
      "properties": {"a": {"type": "string", "format": "password", "unknown": [1]}}})";
  expect_fits(schema, {R"({"a":"b"})", "{}"});
  expect_no_fit(schema, {R"({"a":1})"});
  expect_fits(R"({"allOf": [{"x-a": 1, "type": "string"}, {"x-a": 2, "maxLength": 1}]})",
              {"\"a\""});
}

TEST(Schema, FormatsHaveTextsOfTheirOwn) {
  expect_fits(R"({"format": "duration"})", {"\"P3D\"", "\"PT5M\"", "\"P1DT12H\"", "\"PT1H30M\""});
  expect_no_fit(R"({"format": "duration"})", {"\"P\"", "\"3D\"", "\"PT\"", "\"P1H\""});
  expect_fits(R"({"format": "hostname"})", {"\"localhost\"", "\"a-b.example.com\""});
  expect_no_fit(R"({"format": "hostname"})", {"\"-a\"", "\"a..b\"", "\"a_b\"", "\"\""});
  expect_fits(R"({"format": "ipv6"})",
              {"\"::1\"", "\"fe80::1\"", "\"1:2:3:4:5:6:7:8\"", "\"2001:db8:1::a\""});
  expect_no_fit(R"({"format": "ipv6"})", {"\"1:2\"", "\"1:2:3:4:5:6:7::8\"", "\"g::1\"", "\"::\""});
  expect_fits(R"({"format": "uri"})", {"\"https://example.com/a/b?c=d#e\"", "\"mailto:\"",
                                       "\"urn:/a\"", "\"http://a:80\""});
  expect_no_fit(R"({"format": "uri"})", {"\"example.com\"", "\"http://a b\"", "\"http://a#b#c\""});
  // An annotation where it cannot be both.
  expect_fits(R"({"format": "uuid", "maxLength": 3})", {"\"abc\""});
  expect_fits(R"({"format": "date", "pattern": "^x$"})", {"\"x\""});
  expect_no_fit(R"({"format": "date", "maxLength": 10})", {"\"2026-11-2\"", "\"abc\""});
}

TEST(Schema, CountsTheCharactersOfPatterns) {
  const std::string word = R"({"pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3})";
  expect_fits(word, {"\"ab\"", "\"abc\""});
  expect_no_fit(word, {"\"a\"", "\"abcd\"", "\"a1\""});
  expect_fits(R"({"pattern": "^(?:[0-9])*$", "maxLength": 1})", {"\"\"", "\"7\""});
  expect_no_fit(R"({"pattern": "^(?:[0-9])*$", "maxLength": 1})", {"\"77\""});
  // Its texts have such lengths by themselves.
  expect_fits(R"({"pattern": "^\\d{3}-(?P<rest>\\d{4})$", "minLength": 8, "maxLength": 99})",
              {"\"555-1234\""});
  expect_fits(R"({"pattern": "abc", "minLength": 2})", {"\"xabc\"", "\"abc\""});
  EXPECT_EQ(refused(R"({"pattern": "^([a-z]{2})+$", "maxLength": 5})").code(),
            Code::kUnimplemented);
  EXPECT_EQ(refused(R"({"pattern": "^a|b+$", "maxLength": 5})").code(), Code::kUnimplemented);
  EXPECT_THAT(refused(R"({"pattern": "^[a-z]{4,}$", "maxLength": 3})").message(),
              HasSubstr("at least 4 and at most 3 characters"));
}

TEST(Schema, ItemsOfAListComeOnceIfTheyMust) {
  const std::string colors =
      R"({"type": "array", "items": {"$ref": "#/$defs/c"}, "uniqueItems": true, "minItems": 1,
          "maxItems": 2, "$defs": {"c": {"enum": ["red", "green", "blue", "red"], "type": "string"}}})";
  expect_fits(colors, {R"(["red"])", R"(["red","blue"])", R"([ "green", "blue" ])"});
  expect_no_fit(colors, {"[]", R"(["red","red"])", R"(["red","green","blue"])", R"(["black"])"});
  expect_no_fit(R"({"items": {"enum": [1, 1.0]}, "uniqueItems": true})", {"[1,1.0]", "[1,1]"});
  std::string many = R"({"$defs": {"c": {"enum": [0)";
  for (int i = 1; i < 32; ++i) many += "," + std::to_string(i);
  many += R"(]}}, "properties": {"p": true)";
  for (int i = 0; i < 500; ++i) {
    many +=
        ",\"" + std::to_string(i) + R"(": {"items": {"$ref": "#/$defs/c"}, "uniqueItems": true})";
  }
  EXPECT_THAT(refused(many + "}}").message(), HasSubstr("too large"));
  expect_fits(R"({"uniqueItems": true, "maxItems": 1})", {"[]", "[1]"});
  expect_fits(R"({"uniqueItems": false})", {"[1,1]"});
  EXPECT_EQ(refused(R"({"uniqueItems": true, "items": {"type": "string"}})").code(),
            Code::kUnimplemented);
}

TEST(Schema, NamesOfOtherPropertiesKeepToTheirSchema) {
  const std::string record =
      R"({"type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"},
          "additionalProperties": {"type": "integer"}})";
  expect_fits(record, {"{}", R"({"ab":1,"cd":2})"});
  expect_no_fit(record, {R"({"a":1})", R"({"ab":"x"})"});
  expect_fits(R"({"propertyNames": {"type": "string"}, "properties": {"a": {}}})", {R"({"a":1})"});
  const std::string patterns = R"({"patternProperties": {"^x-": {"type": "null"}}})";
  expect_fits(patterns, {"{}", R"({"x-a":null})"});
  expect_no_fit(patterns, {R"({"a":null})", R"({"x-a":1})"});
  // A name is a string, whatever its schema allows.
  for (const char* names :
       {R"({"type": ["string", "null"], "maxLength": 3})",
        R"({"pattern": "^a+$", "nullable": true})",
        R"({"anyOf": [{"pattern": "^a$"}, {"maxLength": 2}]})", R"({"$ref": "#/$defs/n"})"}) {
    const std::string of_names =
        std::string(R"({"$defs": {"n": {"enum": ["a", null]}}, "propertyNames": )") + names + "}";
    expect_fits(of_names, {"{}", R"({"a":1})"});
    expect_no_fit(of_names, {"{null:1}", "{2:1}", R"({"abcd":1})"});
  }
  for (const char* none :
       {"false", R"({"type": "integer", "minimum": 1})", R"({"type": "null"})"}) {
    const std::string of_none = std::string(R"({"type": "object", "propertyNames": )") + none + "}";
    expect_fits(of_none, {"{}"});
    expect_no_fit(of_none, {"{2:1}", R"({"a":1})", "{null:1}"});
  }
  EXPECT_EQ(refused(R"({"patternProperties": {"^a": {}, "b$": {}}})").code(), Code::kUnimplemented);
  EXPECT_EQ(refused(R"({"properties": {"a": {}}, "propertyNames": {"maxLength": 3}})").code(),
            Code::kUnimplemented);
}

TEST(Schema, CountsProperties) {
  expect_fits(R"({"minProperties": 1, "maxProperties": 2})", {R"({"a":1})", R"({"a":1,"b":2})"});
  expect_no_fit(R"({"minProperties": 1, "maxProperties": 2})", {"{}", R"({"a":1,"b":2,"c":3})"});
  expect_fits(R"({"maxProperties": 0})", {"{}"});
  expect_no_fit(R"({"maxProperties": 0})", {R"({"a":1})"});
  const std::string known = R"({"properties": {"a": {}}, "required": ["a"], "minProperties": 1})";
  expect_fits(known, {R"({"a":1})"});
  EXPECT_EQ(refused(R"({"properties": {"a": {}}, "minProperties": 1})").code(),
            Code::kUnimplemented);
  EXPECT_EQ(refused(R"({"minProperties": 2})").code(), Code::kUnimplemented);
}

TEST(Schema, LooseOneHasWishes) {
  const auto loose = [](const std::string& schema, std::string_view text) {
    return testing::fits({Source::Form::kLooseSchema, schema}, text);
  };
  EXPECT_TRUE(loose(R"({"type": "array", "uniqueItems": true, "items": {"type": "string"}})",
                    R"(["a","a"])"));
  EXPECT_FALSE(
      loose(R"({"type": "array", "uniqueItems": true, "items": {"type": "string"}})", "[1]"));
  EXPECT_TRUE(loose(R"({"type": "integer", "multipleOf": 5, "not": {"const": 3}})", "3"));
  EXPECT_TRUE(loose(R"({"pattern": "^(?!a)b*$", "maxLength": 2})", "\"xy\""));
  EXPECT_FALSE(loose(R"({"pattern": "^(?!a)b*$", "maxLength": 2})", "\"xyz\""));
  EXPECT_TRUE(loose(R"({"enum": ["a", "b"], "minLength": 1})", "\"b\""));
  const auto refused_loosely = [](const std::string& schema) {
    return read_source({Source::Form::kLooseSchema, schema}).status().code();
  };
  EXPECT_EQ(refused_loosely(R"({"pattern": "("})"), Code::kInvalidArgument);
  EXPECT_EQ(refused_loosely(R"({"type": "text"})"), Code::kInvalidArgument);
}

TEST(Schema, BoundsWhatASchemaCosts) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"items":)";
  EXPECT_EQ(refused(deep + "1" + std::string(200, '}')).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"maxLength": 9000000})").code(), Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"type": "string", "maxLength": 100000})").code(), Code::kInvalidArgument);
  // Each reference names the one before twice, beside more.
  std::string wide = R"({"$ref": "#/$defs/d30", "$defs": {"d0": {"type": "object"})";
  for (int i = 1; i <= 30; ++i) {
    const std::string former = R"({"$ref": "#/$defs/d)" + std::to_string(i - 1) + "\"}";
    wide += ", \"d" + std::to_string(i) + R"(": {"allOf": [)" + former + ", " + former + "]}";
  }
  const Status status = refused(wide + "}}");
  EXPECT_TRUE(status.is_ok() || status.code() == Code::kInvalidArgument) << status.message();
}

std::string enum_of(int count, const std::string& step) {
  std::string list = R"({"enum": [0)";
  for (int i = 1; i < count; ++i) list += "," + std::to_string(i) + step;
  return list + "]}";
}

TEST(Schema, TakesAnEnumOfThousandsOfTexts) {
  std::string list = "\"item\"";
  for (int i = 1; i < 12'000; ++i) list += ",\"item " + std::to_string(i) + "\"";
  const std::string schema = R"({"type": "array", "items": {"enum": [)" + list + "]}}";
  expect_fits(schema, {R"(["item 1","item 11999","item"])", R"(["item 119"])", "[]"});
  expect_no_fit(schema, {R"(["item 12000"])", R"(["item "])", R"(["item 01"])", R"(["tem 1"])"});
}

TEST(Schema, BoundsTheWorkOfMerges) {
  const auto both = [](const std::string& a, const std::string& b, int times) {
    std::string schema =
        R"({"$defs": {"a": )" + a + R"(, "b": )" + b + R"(}, "allOf": [{"$ref": "#/$defs/a"})";
    for (int i = 0; i < times; ++i) schema += R"(, {"$ref": "#/$defs/b"})";
    return schema + "]}";
  };
  expect_fits(both(enum_of(1000, ""), enum_of(1000, "0"), 1), {"0", "10", "990"});
  const auto expect_refused = [](const std::string& schema) {
    const Status status = refused(schema);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("merged here are too large"));
  };
  expect_refused(both(enum_of(20'000, ""), enum_of(15'000, "0"), 1));
  std::string names = "0";
  std::string properties = R"({"properties": {"0": true)";
  for (int i = 1; i < 1000; ++i) {
    names += "\", \"" + std::to_string(i);
    properties += ", \"" + std::to_string(i) + "\": true";
  }
  const std::string required = R"({"required": [")" + names;
  expect_refused(both(required + "\"]}", required + "a\"]}", 5));
  expect_refused(both(R"({"type": [")" + names + "\"]}", R"({"type": [")" + names + "a\"]}", 5));
  expect_refused(both(properties + R"(, "b": true}})", properties + R"(, "a": true}})", 5));
}

TEST(Schema, BoundsTheCopiesOfMerges) {
  // The same property with two schemas in turn: what is merged grows with each.
  nlohmann::ordered_json first = {{"properties", {{"x", {{"minimum", 1}}}}}};
  nlohmann::ordered_json second = {{"properties", {{"x", {{"maximum", std::string(640, '1')}}}}}};
  Merger merger;
  nlohmann::ordered_json merged = first;
  Status status = ok_status();
  for (int i = 0; status.is_ok() && i < 2000; ++i) {
    auto next = merger.merge(merged, i % 2 == 0 ? second : first, "#");
    status = next.status();
    if (!next.is_ok()) break;
    EXPECT_LE(merger.work(), Merger::kMaxWork);
    merged = std::move(next).value();
  }
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

TEST(Schema, KeepsTheEndOfLongNamesOfRules) {
  std::string accents;
  for (int i = 0; i < 50; ++i) accents += "\xC3\xA9";
  std::string schema = R"({"type": "object"})";
  for (int i = 0; i < 20; ++i) {
    // One byte more at each depth, so that the cut falls into characters, too.
    const std::string name = accents + std::string(static_cast<std::size_t>(i), 'a');
    schema = R"({"properties": {")" + name + "\": " + schema + R"(, "b": {"enum": [1]}}})";
  }
  const Rules rules = read_schema(schema).value();
  ASSERT_GT(rules.all.size(), 40U);
  for (const Rule& rule : rules.all) {
    EXPECT_LE(rule.name.size(), 67U);
    EXPECT_TRUE(text::check_utf8(rule.name).is_ok()) << rule.name;
  }
}

TEST(Schema, RefusesLongNamesAndReferences) {
  const std::string name(257, 'n');
  for (const std::string& schema :
       {R"({"properties": {")" + name + R"(": {}}})", R"({"required": [")" + name + "\"]}"}) {
    EXPECT_THAT(refused(schema).message(), HasSubstr("name has more than 256 bytes"));
  }
  expect_fits(R"({"properties": {")" + name.substr(1) + R"(": {}}})", {"{}"});
  const std::string place(5000, 'n');
  EXPECT_THAT(
      refused(R"({"$defs": {")" + place + R"(": {}}, "$ref": "#/$defs/)" + place + "\"}").message(),
      HasSubstr("\"$ref\" has more than"));
}

TEST(Schema, ReadsATypeOnce) {
  std::string schema = R"({"type": ["integer")";
  for (int i = 0; i < 1000; ++i) schema += R"(, "object", "integer")";
  const Rules rules = read_schema(schema + "]}").value();
  EXPECT_LT(rules.all.size(), 100U);
}

}  // namespace
}  // namespace sluice::grammar
